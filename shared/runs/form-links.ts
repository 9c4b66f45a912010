import { z } from 'zod';
import type { KeyRing } from '../core/key-ring.ts';

/** The public path of forms; the token of a link follows it. */
export const FORMS_PATH = '/api/v1/forms';

/** The address of the collection request that a link answers: known before the request is stored, so that a node may send the link first. */
export interface RequestAddress {
  tenantID: string;
  instanceID: string;
  nodeID: string;
  /** The loop iterations in which the node asks, as `pathKey` writes them. */
  path: string;
}

/** Links by which a collection request is answered without signing in. */
export interface FormLinks {
  /** Always the same for an address and a key, so that a repeated attempt of a node sends what the first has sent. */
  urlOf(payload: RequestAddress): string;
  /** Undefined for a token that was not issued here. */
  read(token: string): RequestAddress | undefined;
}

const CONTEXT = 'form-link';

/** `publicURL`: where browsers reach the API; empty for links that are relative to it. */
export function createFormLinks(secrets: KeyRing, publicURL: string): FormLinks {
  return {
    urlOf({ tenantID, instanceID, nodeID, path }) {
      const payload = Buffer.from(JSON.stringify([tenantID, instanceID, nodeID, path])).toString('base64url');
      return `${publicURL}${FORMS_PATH}/${payload}.${secrets.sign(payload, CONTEXT)}`;
    },
    read(token) {
      const [, payload = '', signature = ''] = /^([\w-]+)\.(.+)$/.exec(token) ?? [];
      if (!secrets.isSigned(payload, signature, CONTEXT)) return undefined;
      const [tenantID, instanceID, nodeID, path] = FormAddress.parse(
        JSON.parse(Buffer.from(payload, 'base64url').toString()),
      );
      return { tenantID, instanceID, nodeID, path };
    },
  };
}

const FormAddress = z.tuple([z.uuid(), z.uuid(), z.string(), z.string()]);

/** The token in a link, which alone lets its holder answer. */
export function tokenOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

/** A path of a request as logs show it: without the token of a link. */
export function shownPath(path: string): string {
  return path.replace(/(\/forms\/)[^/]+/i, '$1…');
}
