import { useEffect, useRef } from 'react';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { Nothing } from '../nothing.tsx';
import { text, type WidgetProps } from '../page-context.ts';
import { heightOf } from './html.tsx';

/** Rights that a page of another site may have; with others it could reach this one. */
const allowed = new Set(['allow-scripts', 'allow-forms', 'allow-popups']);

export function SiteWidget({
  title,
  properties: { src, title: name, sandbox = 'allow-scripts', height },
}: WidgetProps) {
  const address = addressOf(text(src));
  if (address === null)
    return <Nothing>{text(src) === '' ? 'No address' : 'Only addresses with http and https are shown'}</Nothing>;
  const rights = text(sandbox)
    .split(/\s+/)
    .filter((one) => allowed.has(one))
    .join(' ');
  return <Site {...{ address, rights }} title={text(name, title)} height={heightOf(height)} />;
}

function addressOf(src: string): string | null {
  if (!URL.canParse(src)) return null;
  const { protocol, href } = new URL(src);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}

function Site({ address, rights, title, height }: { address: string; rights: string; title: string; height: number }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    return openSandbox(element, 'site', (port) => {
      port.onmessage = () => port.postMessage({ src: address, title, sandbox: rights });
    });
  }, [address, rights, title]);
  return <iframe ref={frame} className="page-frame" title={title} style={{ height }} />;
}
