// The menu that hands a scenario on: as a link, a command, a file or a notebook.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { commandOf } from "./command";
import { copy, download } from "./download";
import { encodeShared, linkOf } from "./link";
import { notebookOf } from "./notebook";
import { fileStem, type Shared } from "./shared";
import "../editor/variables.css";
import "./share.css";

export interface ShareMenuProps {
  /** What is handed on, at the time of the click. */
  shared: () => Shared;
  /** More entries, such as images of the charts. */
  children?: ComponentChildren;
}

/** Some programs cut longer addresses. */
const LONG = 8000;

/** Pixels between the panel and the edge of the page. */
const MARGIN = 8;

/** What the menu reports; `manual` is text that the browser does not copy by itself. */
interface Report {
  text: string;
  manual: string | undefined;
}

export function ShareMenu({ shared, children }: ShareMenuProps) {
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  const [report, setReport] = useState<Report | undefined>(undefined);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    if (isOpen && panel.current) {
      // The panel ends where the button ends, unless the page is too narrow for that.
      panel.current.style.right = "0";
      const { left } = panel.current.getBoundingClientRect();
      panel.current.style.right = `${Math.min(0, left - MARGIN)}px`;
    }
  }, [isOpen]);

  useEffect(() => {
    if (!isOpen) {
      return;
    }
    const onPointer = (event: PointerEvent) => {
      if (root.current && !event.composedPath().includes(root.current)) {
        setIsOpen(false);
      }
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [isOpen]);

  const copied = async (text: string, done: string) => {
    const isCopied = await copy(text);
    setReport(isCopied ? { text: done, manual: undefined } : { text: "Copy this text:", manual: text });
  };
  const copyLink = () => {
    const encoded = encodeShared(shared());
    if (encoded.code === undefined) {
      setReport({ text: encoded.problem, manual: undefined });
      return;
    }
    const link = linkOf(encoded.code, location.href);
    const warning = link.length > LONG ? " It is long; some programs cut it. The TOML file is safer." : "";
    void copied(link, `Link copied: ${link.length} characters.${warning}`);
  };
  const saved = (ending: string, type: string, content: string) => {
    const name = `${fileStem(shared().text)}.${ending}`;
    download(name, type, content);
    setReport({ text: `${name} is in your downloads.`, manual: undefined });
  };
  const close = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      setIsOpen(false);
      button.current?.focus();
    }
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu from any of its buttons
    <div class="share" ref={root} onKeyDown={close}>
      <button
        type="button"
        class="share-button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls={`${id}-panel`}
        onClick={() => {
          setReport(undefined);
          setIsOpen(!isOpen);
        }}
      >
        Share
      </button>
      <div class="share-panel" ref={panel} id={`${id}-panel`} hidden={!isOpen}>
        <button type="button" onClick={copyLink}>
          Copy link
          <small>The scenario is in the link itself</small>
        </button>
        <button type="button" onClick={() => void copied(commandOf(shared()), "Command copied.")}>
          Copy command
          <small>{isOpen && <code>{commandOf(shared())}</code>}</small>
        </button>
        <button type="button" onClick={() => saved("toml", "application/toml", shared().text)}>
          Download TOML
          <small>For the command line and for Python</small>
        </button>
        <button type="button" onClick={() => saved("ipynb", "application/x-ipynb+json", notebookOf(shared()))}>
          Download notebook
          <small>For Jupyter, with the run and its figures</small>
        </button>
        {children}
        <div class="share-report" role="status">
          {report?.text}
        </div>
        {report?.manual !== undefined && (
          <textarea
            class="share-manual"
            aria-label="Text to copy"
            readOnly
            rows={4}
            value={report.manual}
            onFocus={event => event.currentTarget.select()}
          />
        )}
      </div>
    </div>
  );
}
