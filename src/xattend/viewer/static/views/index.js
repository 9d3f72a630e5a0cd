// The views, in the order of their tabs; the first that accepts a trace is shown first. A new view is one file and one line here.
//
// A view: { name, title, byHead, accepts(trace, context), draw(element, trace, context) -> { svg(), destroy() } }, both optional.

import { overlayView } from "./overlay.js";
import { filmView } from "./film.js";
import { soundView } from "./sound.js";
import { strokesView } from "./strokes.js";
import { glimpseView } from "./glimpse.js";
import { canvasView } from "./canvas.js";
import { storyView } from "./story.js";
import { machineView } from "./machine.js";
import { matrixView } from "./matrix.js";
import { arcsView } from "./arcs.js";
import { headsView } from "./heads.js";
import { tokensView } from "./tokens.js";
import { treeView } from "./tree.js";
import { modesView } from "./modes.js";

const ownViews = [overlayView, filmView, soundView, strokesView, glimpseView, canvasView, storyView, machineView]; // of one kind of trace each
export const views = [...ownViews, matrixView, arcsView, headsView, tokensView, treeView, modesView];
