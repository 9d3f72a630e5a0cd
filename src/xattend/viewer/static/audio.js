// A sound that lies in the page as numbers, played by the browser's own audio graph: nothing is loaded, not even from the page itself.

// `moved(seconds)` is called while it plays, with null when it has ended; `failed(text)` if the browser cannot play it
export function soundPlayer(samples, rate, moved, failed) {
  let audio = null, playing = null, frame = 0;

  function stop() {
    cancelAnimationFrame(frame);
    if (!playing) return;
    const ended = playing;
    playing = null;
    ended.onended = null;
    ended.stop();
    moved(null);
  }

  function play(from = 0) {
    stop();
    try {
      audio = audio || new AudioContext();
      const buffer = audio.createBuffer(1, samples.length, rate), source = audio.createBufferSource();
      buffer.copyToChannel(samples, 0);
      source.buffer = buffer;
      source.connect(audio.destination);
      const began = audio.currentTime - from;
      source.onended = stop;
      source.start(0, from);
      audio.resume();
      playing = source;
      const tick = () => {
        if (playing !== source) return;
        moved(Math.min(samples.length / rate, audio.currentTime - began));
        frame = requestAnimationFrame(tick);
      };
      tick();
    } catch (error) {
      playing = null;
      failed(`this browser cannot play it: ${error.message}`);
    }
  }

  return { play, stop, get on() { return playing !== null; }, close() { stop(); if (audio) audio.close(); } };
}
