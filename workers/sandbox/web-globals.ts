import { ALGORITHMS, SETTABLE } from './host-functions.ts';
import { webBytes } from './web-bytes.ts';
import { webClone } from './web-clone.ts';
import { webCrypto } from './web-crypto.ts';
import { webText } from './web-text.ts';
import { webURL } from './web-url.ts';

/** Globals of browsers and Node that code may use: those which need no network, no time and no file. */
const names = [
  'crypto',
  'TextEncoder',
  'TextDecoder',
  'atob',
  'btoa',
  'URL',
  'URLSearchParams',
  'structuredClone',
] as const;

const NAMED = new RegExp(`\\b(${names.join('|')})\\b`);

/** Whether code names one of the globals. Contexts of other code do without, because adding them takes as long as a short call. */
export function needsWebGlobals(code: string): boolean {
  return NAMED.test(code);
}

/** Source of a script whose value is a function that adds the globals to its context; it gets `callHost` of the host. */
export function webGlobalsSource(): string {
  return `'use strict';
    (host) => {
      const call = (name, ...args) => host(name, args[0], args[1], args[2], args[3]);
      const bytes = (${webBytes})();
      const globals = {
        crypto: (${webCrypto})(call, bytes, ${JSON.stringify(ALGORITHMS)}),
        structuredClone: (${webClone})(bytes),
        ...(${webText})(call, bytes),
        ...(${webURL})(call, bytes, ${JSON.stringify(SETTABLE)}),
      };
      for (const name of Object.keys(globals))
        Object.defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true });
    }`;
}
