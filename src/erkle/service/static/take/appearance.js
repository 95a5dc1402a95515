// Light or dark, and everything else about the screen that may change how a question looks.
//
// The study decides the colours, not the participant's system, so that all participants see the same.

const MEDIA = { light: "not all", dark: "all", auto: "(prefers-color-scheme: dark)" };

// Applies the study's setting: light, dark, or auto (what the system prefers).
export function appear(appearance) {
  document.getElementById("dark").media = MEDIA[appearance] ?? MEDIA.light;
}

// What is recorded with an answer. `picture` is the width and height of the frames of pictures, in CSS pixels.
export function display(stage) {
  const frame = stage.querySelector(".frame");
  return {
    width: innerWidth,
    height: innerHeight,
    pixel_ratio: devicePixelRatio,
    scheme: matchMedia(document.getElementById("dark").media).matches ? "dark" : "light",
    picture: frame ? Math.round(100 * frame.getBoundingClientRect().width) / 100 : null,
    touch: navigator.maxTouchPoints > 0,
  };
}
