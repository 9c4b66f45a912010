import { useEffect, useRef } from 'react';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { number, text, usePage, type WidgetProps } from '../page-context.ts';

const HEIGHT = 240;
/** A message of the frame that is larger is dropped: it would be copied into expressions. */
const MAX_MESSAGE = 100_000;

export function heightOf(height: unknown): number {
  return Math.min(Math.max(number(height) ?? HEIGHT, 20), 5_000);
}

/** Markup with styles and scripts of its author, in a frame that reaches neither the page nor any server. */
export function HTMLWidget({ widgetKey, title, properties: { content, height } }: WidgetProps) {
  const page = usePage();
  const frame = useRef<HTMLIFrameElement>(null);
  const port = useRef<MessagePort>(null);
  const shown = text(content);
  const latest = useRef(shown);
  latest.current = shown;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const onMessage = ({ source, data }: MessageEvent) => {
      // Other frames, and windows of other sites, send messages too.
      if (source !== element.contentWindow) return;
      const json = jsonOf(data);
      // The text that was measured is passed on: bytes, which JSON leaves out, are not.
      if (json !== undefined && json.length <= MAX_MESSAGE)
        void page.fire(widgetKey, 'onMessage', { data: JSON.parse(json) });
    };
    window.addEventListener('message', onMessage);
    const close = openSandbox(element, 'html', (opened) => {
      port.current = opened;
      opened.onmessage = () => opened.postMessage(latest.current);
    });
    return () => {
      window.removeEventListener('message', onMessage);
      port.current = null;
      close();
    };
  }, [page, widgetKey]);
  useEffect(() => port.current?.postMessage(shown), [shown]);
  return <iframe ref={frame} className="page-frame" title={title} style={{ height: heightOf(height) }} />;
}

function jsonOf(data: unknown): string | undefined {
  try {
    return JSON.stringify(data);
  } catch {
    return undefined;
  }
}
