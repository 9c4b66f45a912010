/** Frames of an opaque origin, by the documents that the API serves for them. */

export type SandboxKind = 'code' | 'html' | 'site';

/** The path of a frame's document, beside the console. */
const PATH = '/console/frames/';

/**
 * Makes an element a frame of this kind. It is loaded once the element is in the document; `onPort` then gets the port by which both talk,
 * and nothing else passes between them.
 */
export function openSandbox(
  frame: HTMLIFrameElement,
  kind: SandboxKind,
  onPort: (port: MessagePort) => void,
): () => void {
  const sandbox = kind === 'site' ? 'allow-scripts allow-forms allow-popups' : 'allow-scripts';
  frame.setAttribute('sandbox', sandbox);
  frame.referrerPolicy = 'no-referrer';
  let port: MessagePort | undefined;
  const onLoad = () => {
    // A document that is loaded later is another one, and gets no port.
    if (port) return;
    const channel = new MessageChannel();
    port = channel.port1;
    frame.contentWindow?.postMessage(null, '*', [channel.port2]);
    onPort(port);
  };
  frame.addEventListener('load', onLoad);
  frame.src = PATH + kind;
  return () => {
    frame.removeEventListener('load', onLoad);
    port?.close();
  };
}
