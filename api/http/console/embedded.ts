/**
 * Documents for what the console shows and does not trust, each in a frame. The directive `sandbox` makes their origin opaque, also when one
 * is opened by its address: they reach neither the console nor its storage, and no server. They take one port of a channel from the page
 * around them, and nothing else.
 */
import { hash } from 'node:crypto';
import { type IRouter, Router } from 'express';

/** Hands over the one port that the page around the frame sends at first. */
const takePort = `
const take = (use) => {
  // A message of another frame must not take the place of the page's.
  const onMessage = ({ source, ports: [port] }) => {
    if (source !== parent || !port) return;
    removeEventListener('message', onMessage);
    use(port);
  };
  addEventListener('message', onMessage);
};`;

/**
 * Evaluates one piece of code after the other. Names of the global scope that reach out are removed, though the policy leaves them without
 * effect; objects that all code shares, and the names of the global scope, are frozen, so that no piece changes what another one finds, nor
 * reads what belongs to another one.
 */
const evaluating = `
'use strict';
addEventListener('message', ({ ports: [port] }) => {
  const { parse, stringify } = JSON;
  const send = port.postMessage.bind(port);
  const names = new Map();
  const compile = (source, roots) => {
    const key = roots.join() + ' ' + source;
    if (!names.has(key)) names.set(key, new Function(...roots, '"use strict"; return (' + source + '\\n)'));
    return names.get(key);
  };
  for (const name of ['postMessage', 'close', 'fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', 'importScripts', 'Worker', 'indexedDB', 'caches', 'BroadcastChannel', 'navigator', 'location', 'name'])
    try { Object.defineProperty(globalThis, name, { value: undefined }); } catch {}
  const keep = (shared) => {
    if (typeof shared !== 'function' && (typeof shared !== 'object' || shared === null)) return;
    if (shared.prototype) Object.freeze(shared.prototype);
    Object.freeze(shared);
  };
  for (const one of [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), ''.matchAll(/a/g), (function* () {})(), (async function* () {})(), function* () {}, async function* () {}, async () => {}])
    for (let at = Object.getPrototypeOf(one); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      if (Object.hasOwn(at, 'constructor')) keep(at.constructor);
      keep(at);
    }
  for (const name of Object.getOwnPropertyNames(globalThis))
    try {
      const { value, configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
      if (value !== globalThis) keep(value);
      if (configurable) Object.defineProperty(globalThis, name, { configurable: false, ...(value !== undefined && { writable: false }) });
    } catch {}
  for (let at = Object.getPrototypeOf(globalThis); at; at = Object.getPrototypeOf(at)) Object.freeze(at);
  Object.preventExtensions(globalThis);
  const textOf = (error) => {
    try {
      return String(error && error.message || error).slice(0, 500);
    } catch {
      return 'has thrown something that is no text';
    }
  };
  let last = Promise.resolve();
  port.onmessage = ({ data: jobs }) => {
    last = last.then(() => work(jobs));
  };
  const work = async (jobs) => {
    for (const { id, source, scope } of jobs) {
      send({ begun: id });
      try {
        const roots = new Map();
        for (const { root, key, value } of scope)
          if (key === null) roots.set(root, { ...value, ...roots.get(root) });
          else roots.set(root, { ...roots.get(root), [key]: value });
        const given = compile(source, [...roots.keys()])(...roots.values());
        // A promise has the same time: the next piece begins behind it.
        const value = typeof given?.then === 'function' ? await given : given;
        const json = stringify(value);
        if (json !== undefined && json.length > 2_000_000) throw new Error('gives more than 2 MB');
        send({ id, json });
      } catch (error) {
        send({ id, message: textOf(error) });
      }
    }
  };
}, { once: true });`;

const code = `
${takePort}
const address = URL.createObjectURL(new Blob([${JSON.stringify(evaluating)}], { type: 'text/javascript' }));
const MS = 100;
take((page) => {
  let worker, port, timer, waiting = [], patienceMs = 2000;
  const begin = () => {
    const channel = new MessageChannel();
    worker = new Worker(address);
    port = channel.port1;
    port.onmessage = ({ data }) => {
      clearTimeout(timer);
      if ('begun' in data) timer = setTimeout(stop, MS, data.begun);
      else {
        end(data);
        watch();
      }
    };
    worker.onerror = () => waiting[0] && stop(waiting[0].id);
    worker.postMessage(null, [channel.port2]);
    if (waiting.length > 0) port.postMessage(waiting);
    watch();
  };
  // Code that has ended may have left work behind, which holds the worker. A busy machine holds it too: each time is longer.
  const watch = () => {
    clearTimeout(timer);
    if (waiting.length > 0) timer = setTimeout(replace, patienceMs);
  };
  const replace = () => {
    patienceMs = Math.min(patienceMs * 2, 30000);
    leave();
    begin();
  };
  const leave = () => {
    clearTimeout(timer);
    // A late message of this worker is not about the next one.
    port.onmessage = null;
    worker.onerror = null;
    worker.terminate();
  };
  const end = (result) => {
    waiting = waiting.filter(({ id }) => id !== result.id);
    page.postMessage(result);
  };
  const stop = (id) => {
    leave();
    const job = waiting.find((one) => one.id === id);
    // A busy machine may have taken the time.
    if (job && !job.wasStopped) waiting = [...waiting.filter((one) => one !== job), { ...job, wasStopped: true }];
    else end({ id, message: 'took longer than ' + MS + ' ms' });
    begin();
  };
  page.onmessage = ({ data: jobs }) => {
    const wasIdle = waiting.length === 0;
    waiting.push(...jobs);
    port.postMessage(jobs);
    if (wasIdle) watch();
  };
  begin();
  page.postMessage({ ready: true });
});`;

/**
 * No directive of a policy that browsers know covers peer connections, so their names are removed. A frame that the content opens has them
 * again.
 */
const markup = `
${takePort}
take((port) => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection'])
    Object.defineProperty(window, name, { value: undefined, configurable: false, writable: false });
  port.onmessage = ({ data }) => {
    document.open();
    document.write(data);
    document.close();
  };
  port.postMessage({ ready: true });
});`;

const site = `
${takePort}
take((port) => {
  port.onmessage = ({ data: { src, title, sandbox } }) => {
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', sandbox);
    frame.referrerPolicy = 'no-referrer';
    frame.title = title;
    frame.src = src;
    document.body.replaceChildren(frame);
  };
  port.postMessage({ ready: true });
});`;

const siteStyle = 'html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block }';

const digest = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;

interface Embedded {
  script: string;
  style?: string;
  policy: readonly string[];
}

const documents: Readonly<Record<string, Embedded>> = {
  code: {
    script: code,
    policy: ['sandbox allow-scripts', `script-src ${digest(code)} 'unsafe-eval' blob:`, 'worker-src blob:'],
  },
  // Its content is that of a widget: markup, styles and scripts, which load nothing from a server, not even an image.
  html: {
    script: markup,
    policy: [
      'sandbox allow-scripts',
      "script-src 'unsafe-inline'",
      "style-src 'unsafe-inline'",
      'img-src data:',
      'media-src data:',
      'font-src data:',
    ],
  },
  site: {
    script: site,
    style: siteStyle,
    policy: [
      'sandbox allow-scripts allow-forms allow-popups',
      `script-src ${digest(site)}`,
      `style-src ${digest(siteStyle)}`,
      'frame-src https: http:',
    ],
  },
};

/** The documents at `/console/frames/…`. */
export function embeddedDocuments(): IRouter {
  const router = Router();
  for (const [name, { script, style, policy }] of Object.entries(documents)) {
    const all = ["default-src 'none'", ...policy, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'"];
    const head = `<meta charset="utf-8"><title>${name}</title>${style ? `<style>${style}</style>` : ''}`;
    const text = `<!doctype html><html lang="en"><head>${head}</head><body><script>${script}</script></body></html>`;
    router.get(`/frames/${name}`, (_request, response) => {
      response.removeHeader('x-frame-options');
      response
        .set('content-security-policy', all.join('; '))
        .set('cache-control', 'no-cache')
        .set('referrer-policy', 'no-referrer')
        .type('html')
        .send(text);
    });
  }
  return router;
}
