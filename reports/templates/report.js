"use strict";
(() => {
  // Charts in closed folds have no width yet; they are drawn when somebody opens them.
  const drawn = new WeakSet();

  const draw = async (box) => {
    if (drawn.has(box)) return;
    drawn.add(box);
    const place = document.createElement("div");
    place.className = "view";
    box.append(place);
    try {
      const spec = JSON.parse(box.querySelector("script").textContent);
      await window.vegaEmbed(place, spec, {
        mode: "vega-lite",
        renderer: "svg",
        actions: false,
        ast: true,
        tooltip: { disableDefaultStyle: true },
      });
    } catch (error) {
      place.textContent = `This chart could not be drawn: ${error.message}`;
    }
  };

  const drawVisible = async () => {
    for (const box of document.querySelectorAll(".chart")) {
      if (!box.closest("details:not([open])")) await draw(box);
    }
  };

  document.addEventListener("toggle", drawVisible, true);
  drawVisible();
})();
