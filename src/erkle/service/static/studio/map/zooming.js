/**
 * Zoom and pan. To let the page scroll, the wheel zooms only with Ctrl or when the map has the focus, and one finger pans
 * only when the map is zoomed in.
 */

// Largest zoom factor.
const MOST = 40;

export class Zooming {
  constructor(surface, onchange) {
    this.transform = d3.zoomIdentity;
    this.selection = d3.select(surface);
    this.zoom = d3
      .zoom()
      .scaleExtent([0.5, MOST])
      .filter((event) => this.wanted(event, surface))
      .on("zoom", ({ transform }) => {
        this.transform = transform;
        surface.style.touchAction = transform.k > 1 ? "none" : "pan-y";
        onchange();
      });
    this.selection.call(this.zoom).on("dblclick.zoom", null);
    surface.style.touchAction = "pan-y";
  }

  wanted(event, surface) {
    if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === surface;
    if (event.touches) return event.touches.length > 1 || this.transform.k > 1;
    return !event.ctrlKey && !event.button;
  }

  resize(width, height) {
    this.zoom.extent([
      [0, 0],
      [width, height],
    ]);
  }

  by(factor) {
    this.move((target) => this.zoom.scaleBy(target, factor));
  }

  pan(dx, dy) {
    this.move((target) => this.zoom.translateBy(target, dx / this.transform.k, dy / this.transform.k));
  }

  reset() {
    this.move((target) => this.zoom.transform(target, d3.zoomIdentity));
  }

  move(change) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    change(still ? this.selection : this.selection.transition().duration(250));
  }
}
