// Shows the lab below an example when the reader asks for it.

// Browsers run no module and no worker of a page that comes from a file.
if (location.protocol !== "file:") {
  for (const place of document.querySelectorAll(".run-here")) prepare(place);
}

function prepare(place) {
  const button = place.querySelector("button");
  let frame;
  button.addEventListener("click", () => {
    if (frame) {
      frame.remove();
      frame = undefined;
    } else {
      frame = document.createElement("iframe");
      frame.title = place.dataset.title;
      frame.src = withTheme(place.dataset.frame);
      frame.addEventListener("load", () => fit(frame));
      place.append(frame);
      frame.focus();
    }
    button.textContent = frame ? "Close" : "Run it here";
    button.setAttribute("aria-expanded", String(Boolean(frame)));
  });
  place.hidden = false;
}

/** The address of a frame in the colours of this page: furo has them on the body, and follows the system by itself. */
function withTheme(address) {
  const { theme } = document.body.dataset;
  return theme === "dark" || theme === "light" ? `${address}&theme=${theme}` : `${address}&theme=auto`;
}

new MutationObserver(() => {
  for (const frame of document.querySelectorAll(".run-here iframe")) {
    const address = withTheme(frame.closest(".run-here").dataset.frame);
    frame.contentWindow.location.replace(new URL(address, location.href));
  }
}).observe(document.body, { attributeFilter: ["data-theme"] });

/** Makes a frame as high as its page, so that only one of the two scrolls. */
function fit(frame) {
  const page = frame.contentDocument?.documentElement;
  if (!page) return;
  new ResizeObserver(() => {
    const height = page.querySelector("body").scrollHeight;
    if (height > 0) frame.style.height = `${height + 2}px`;
  }).observe(page.querySelector("body"));
}
