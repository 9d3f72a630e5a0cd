// The views, in the order of their tabs; the first that accepts a trace is shown first. A new view is one file and one line here.
//
// A view: { name, title, byHead, accepts(trace, context), draw(element, trace, context) -> { svg(), destroy() } }, both optional.

import { overlayView } from "./overlay.js";
import { filmView } from "./film.js";
import { matrixView } from "./matrix.js";
import { arcsView } from "./arcs.js";
import { headsView } from "./heads.js";
import { tokensView } from "./tokens.js";
import { treeView } from "./tree.js";
import { modesView } from "./modes.js";

export const views = [overlayView, filmView, matrixView, arcsView, headsView, tokensView, treeView, modesView];
