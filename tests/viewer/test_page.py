"""The page in a real browser: type, see, hide, force, look elsewhere, compare; and it asks nobody but its host."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.viewer import models
from tests.viewer.browsing import IMAGES, SCREENSHOTS, Watched, browser, watched  # noqa: F401  (fixtures)
from tests.viewer.models import SENTENCE
from tests.viewer.test_ask import picture
from tests.viewer.test_kinds import recording
from xattend.model import Model
from xattend.viewer.host import Host

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUTPUT = ".xa-texts .xa-text:nth-child(2) .xa-said"


@pytest.fixture
def serve() -> Iterator[list[Host]]:
    """A list to put hosts in that are to be stopped."""
    hosts: list[Host] = []
    yield hosts
    for host in hosts:
        host.shutdown()
        host.server_close()


def opened(seen: Watched, hosts: list[Host], *given: tuple[str, Model]) -> Page:
    host = Host(given)
    hosts.append(host)
    threading.Thread(target=host.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    seen.page.goto(host.url)
    seen.page.wait_for_selector("body[data-state=ready]")
    return seen.page


def answered(page: Page, number: int) -> None:
    """Waits for so many answers in all."""
    page.wait_for_selector(f"body[data-state=ready][data-answers='{number}']")


def clean(seen: Watched, hosts: list[Host]) -> None:
    assert seen.complaints == []
    foreign = [url for url in seen.requests if not url.startswith((hosts[-1].url, "data:", "blob:"))]
    assert foreign == []


def test_type_hide_force_and_look_elsewhere(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("hindi", models.hindi()))
    page.locator("#text").press_sequentially(SENTENCE)
    page.locator(".xa-texts", has_text="I am eating bread there").wait_for()
    page.wait_for_selector("body[data-state=ready]")
    count = int(page.locator("body").get_attribute("data-answers") or 0)
    assert page.locator(".xattend canvas").count() > 0
    assert {"matrix", "tree", "modes", "tokens"} <= {tab.get_attribute("data-view") for tab in page.locator("[role=tab]").all()}
    if SCREENSHOTS:
        page.screenshot(path=IMAGES / "viewer-page.png", full_page=True)

    page.locator("[data-role=source-tokens] button", has_text="roti").click()  # hidden: it is not translated
    answered(page, count + 1)
    assert page.locator(OUTPUT).text_content() == "I am eating there"
    page.locator("[data-role=clear]").click()
    answered(page, count + 2)

    page.locator("[data-role=output-tokens] button", has_text="bread").click()  # its step looks at "vahan" alone
    page.locator("[data-role=only][data-place='2']").click()
    answered(page, count + 3)
    assert page.locator(OUTPUT).text_content() == "I am eating there"
    assert page.locator("[data-role=weights] input[type=number]").nth(2).input_value() == "1.000"
    page.locator("[data-role=weights] input[type=number]").nth(1).fill("9")  # typed: mostly at "roti"
    page.locator("[data-role=weights] input[type=number]").nth(2).fill("0")
    page.locator("[data-role=decode-row]").click()
    answered(page, count + 4)
    assert page.locator(OUTPUT).text_content() == "I am eating bread there"
    if SCREENSHOTS:
        page.locator("#edit").screenshot(path=IMAGES / "viewer-edit.png")
    page.locator("[data-role=own-row]").click()
    answered(page, count + 5)

    page.locator("[data-role=output-tokens] button").first.click()
    page.locator("[data-role=replacement]").fill("they were")
    page.locator("[data-role=replacement]").press("Enter")
    answered(page, count + 6)
    assert page.locator(OUTPUT).text_content() == "they were eating bread there"
    assert page.locator(".pg-forced").count() >= 1
    page.locator("[data-role=output-tokens] button", has_text="eating").click()
    page.locator("[data-role=keep]").click()
    answered(page, count + 7)
    assert page.locator(".pg-forced").all_text_contents() == ["they", "were", "eating"]
    clean(watched, serve)


def test_sliders_and_the_tree(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("hindi", models.hindi()))
    page.locator(".pg-examples button").first.click()
    answered(page, 1)
    page.locator("[role=tab][data-view=tree]").click()
    wide = page.locator(".xa-node").count()
    page.locator("#setting-size").fill("1")
    answered(page, 2)
    assert page.locator("[role=tab][data-view=tree]").get_attribute("aria-selected") == "true", "the view stays"
    assert 0 < page.locator(".xa-node").count() < wide
    page.locator("#setting-length_penalty").fill("0.3")
    answered(page, 3)
    clean(watched, serve)


def test_by_keyboard_alone(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("hindi", models.hindi()))
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.insert_text(SENTENCE)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[data-role=source-tokens]")
    page.wait_for_selector("body[data-state=ready]")
    count = int(page.locator("body").get_attribute("data-answers") or 0)
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.key") == "in-1":
            break
    page.keyboard.press("Enter")
    answered(page, count + 1)
    assert page.locator(OUTPUT).text_content() == "I am eating there"
    assert page.evaluate("document.activeElement.dataset.key") == "in-1", "the focus stays where it was"
    clean(watched, serve)


def test_two_models_on_one_input_and_what_goes_wrong(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("first", models.hindi()), ("second", models.hindi(seed=2, steps=1)))
    page.locator("#show").select_option("both")
    page.locator("#text").fill(SENTENCE)
    answered(page, 1)
    assert page.locator(".xa-side").count() == 2
    assert page.locator("#edit").is_hidden()
    page.locator("#show").select_option("0")
    answered(page, 2)
    assert page.locator("#text").input_value() == SENTENCE
    assert page.locator(".xa-side").count() == 0
    page.locator("[data-role=replacement]").fill("elephants")
    page.locator("[data-role=replace]").click()
    page.wait_for_selector("body[data-state=error]")
    assert "elephants" in (page.locator("#said").text_content() or "")
    # a status of 400 is the browser's to mention; nothing else is
    assert [line for line in watched.complaints if "400" not in line] == []
    page.locator("#text").fill("<img src=x onerror=alert(1)> \u0000 \u0939\u093f")
    answered(page, 3)
    assert page.locator("img").count() == 0


def test_a_picture(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("pictures", models.caption()))
    page.locator("#picture").set_input_files({"name": "</script>.png", "mimeType": "image/png", "buffer": base64.b64decode(picture())})
    answered(page, 1)
    assert page.locator("[data-role=picture-name]").text_content() == "</script>.png"
    assert page.locator("[data-role=source-tokens] button").count() == 16
    page.locator("[data-place='3'][data-key='in-3']").click()
    answered(page, 2)
    assert page.locator("[data-key='in-3']").get_attribute("aria-pressed") == "true"
    clean(watched, serve)


def test_a_sound_a_story_and_a_pen(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    page = opened(watched, serve, ("listener", models.listener()))
    page.locator("#picture").set_input_files({"name": "tone.wav", "mimeType": "audio/wav", "buffer": base64.b64decode(recording())})
    answered(page, 1)
    assert page.locator(".xattend").get_attribute("data-view") == "sound"
    assert page.locator("[data-role=play-sound]").is_visible()
    assert page.locator("#edit").is_visible()

    page = opened(watched, serve, ("stories", models.stories()))
    page.locator("#question").fill("Where is Ada")  # first: a story alone would be asked its last sentence
    page.locator("#text").fill("Ada walked to the cellar\nBoris took the lamp")
    answered(page, 1)
    assert page.locator("[data-role=story] tbody tr").count() == 2
    assert page.locator("#edit").is_hidden()  # there is no decoder to lay a hand on
    page.locator(".pg-examples button").first.click()
    answered(page, 2)
    assert (page.locator("#question").input_value()).endswith("?")
    assert "#" not in page.locator("#question").input_value()

    page = opened(watched, serve, ("pen", models.pen()))
    page.locator("#text").fill("some")
    answered(page, 1)
    first = page.locator("[data-role=strokes] path").get_attribute("d")
    page.locator("#setting-seed").fill("5")
    page.locator("#setting-seed").press("Tab")
    answered(page, 2)
    assert page.locator("[data-role=strokes] path").get_attribute("d") != first
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith((*(host.url for host in serve), "data:", "blob:"))] == []


def test_windows_and_a_memory(watched: Watched, serve: list[Host]) -> None:  # noqa: F811
    for model, view, text in ((models.looker(), "glimpse", None), (models.painter(), "canvas", None), (models.computer(), "machine", "0110 1101 copy . .")):
        page = opened(watched, serve, (view, model))
        if text:
            page.locator("#text").fill(text)
        else:
            page.locator(".pg-examples button").first.click()
        answered(page, 1)
        assert page.locator(".xattend").get_attribute("data-view") == view
        assert page.locator("#edit").is_hidden()
    assert watched.complaints == []
