// The frame of all pages: navigation, theme and the page of the route.

import { useEffect, useRef } from "preact/hooks";
import { CapturePage } from "./capture-page";
import { HomePage } from "./home-page";
import { EmbedPage, LabPage } from "./lab-page";
import { StoryPage } from "./parts";
import { type Route, route } from "./router";
import { nextTheme, theme } from "./theme";

const LINKS = [
  ["#/", "Stories", ["", "story"]],
  ["#/lab", "Lab", ["lab"]],
  ["#/capture", "Captures", ["capture"]],
] as const;

export function App() {
  const { path } = route.value;
  const first = path[0] ?? "";
  return first === "embed" ? <EmbedPage parameters={route.value.parameters} /> : <Shell route={route.value} />;
}

function Shell({ route: now }: { route: Route }) {
  const first = now.path[0] ?? "";
  const main = useRef<HTMLElement>(null);
  const isStart = useRef(true);
  useEffect(() => {
    document.title = titleOf(first);
    if (!isStart.current) {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    isStart.current = false;
  }, [first]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="shell-head">
        <a class="brand" href="#/">
          <Mark />
          <span>
            Forebay <b>lab</b>
          </span>
        </a>
        <nav aria-label="Pages">
          {LINKS.map(([href, title, owns]) => (
            <a key={href} href={href} aria-current={(owns as readonly string[]).includes(first) ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <button
          type="button"
          class="theme"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.value}. Change it.`}
          title={`Theme: ${theme.value}`}
        >
          <ThemeMark />
          <span>{theme.value}</span>
        </button>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Page route={now} />
      </main>
    </>
  );
}

function titleOf(page: string): string {
  const titles: Record<string, string> = { lab: "Lab", capture: "Captures", story: "Story" };
  const title = titles[page];
  return title ? `${title} – Forebay lab` : "Forebay lab";
}

function Page({ route: { path, parameters } }: { route: Route }) {
  switch (path[0]) {
    case "lab":
      return <LabPage parameters={parameters} />;
    case "capture":
      return <CapturePage />;
    case "story":
      return <StoryPage name={path[1] ?? ""} step={Number(path[2] ?? 1)} />;
    default:
      return <HomePage />;
  }
}

/** Packets in a queue, one of which falls out. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      <path d="M2 5.5h20M2 14.5h20" class="mark-rail" />
      <rect x="4" y="7.5" width="4" height="5" rx="1" class="mark-a" />
      <rect x="10" y="7.5" width="4" height="5" rx="1" class="mark-b" />
      <rect x="16" y="7.5" width="4" height="5" rx="1" class="mark-a" />
      <rect x="10" y="17.5" width="4" height="5" rx="1" class="mark-c" />
    </svg>
  );
}

function ThemeMark() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
    </svg>
  );
}
