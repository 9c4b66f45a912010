import type { AuditRecord } from '#shared/access/audit/records.ts';
import {
  type Hiding,
  REDACTED,
  readable,
  readableHeaders,
  readableText,
  readableURL,
} from '#shared/access/audit/redact.ts';
import { toAppError, toWireError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { maskSecrets } from '#shared/core/schema/secret.ts';
import type { AuditTrail } from '../../audit/trail.ts';
import type { App } from '../../auth/identity.ts';
import { beginningOf } from '../request/body.ts';
import type { Asset, RequestEntry } from '../route/audit-entry.ts';
import type { Request, Response, Route } from '../route/route.ts';

interface Asked {
  route: Route;
  request: Request;
  response: Response;
  tenantID: string;
  identity: { userID: string | null; apiKeyID?: string | null | undefined; app?: App | undefined };
  /** The asset that the request is about; absent: the first one that the path names. */
  asset?: Asset | undefined;
}

/** The entry of a tenant's request in its audit trail. */
export function openEntry(trail: AuditTrail, asked: Asked): RequestEntry {
  const { route, request, response, tenantID, identity } = asked;
  const id = newID();
  const at = new Date();
  const began = performance.now();
  let written: 'no' | 'yes' | 'by the handler' = 'no';

  function entry(): AuditRecord {
    return {
      id,
      tenantID,
      kind: 'entry',
      entryID: null,
      type: 'API_REQUEST',
      action: request.method,
      userID: identity.userID,
      apiKeyID: identity.apiKeyID ?? null,
      path: pathOf(route, request).slice(0, MAX_PATH_LENGTH),
      ...(asked.asset ?? assetOf(route, request)),
      status: null,
      durationMs: null,
      details: {
        request: describeRequest(route, request, response),
        ...(identity.app && { app: { name: identity.app.name, clientID: identity.app.clientID } }),
      },
      at,
    };
  }

  /**
   * Whether the entry is surely stored: a handler that failed, or that found the response of an earlier request, may not
   * have written it.
   */
  function isCertain(status: number): boolean {
    return written === 'yes' || (status < 400 && request.headers['idempotency-key'] === undefined);
  }

  function finish(status: number, resultDetails: () => JsonObject): void {
    const durationMs = Math.round(performance.now() - began);
    const details: JsonObject = { response: { statusCode: status, ...resultDetails() } };
    if (written === 'no') {
      const whole = entry();
      return trail.note({ ...whole, status, durationMs, details: { ...whole.details, ...details } });
    }
    // If the handler has written the entry after all, this copy is ignored.
    if (!isCertain(status)) trail.note(entry());
    trail.note({ ...OUTCOME, id: newID(), tenantID, entryID: id, status, durationMs, details, at: new Date() });
  }

  return {
    id,
    async begin() {
      await trail.write(entry());
      written = 'yes';
    },
    take() {
      written = 'by the handler';
      return entry();
    },
    end: (status, result) => finish(status, () => (result === undefined ? {} : bodyOf(route, result))),
    fail(error) {
      const known = toAppError(error);
      finish(known.status, () => {
        const { code, message } = toWireError(known);
        return { error: readable({ code, message }) };
      });
    },
  };
}

/** Fields of an outcome, which does not repeat what its entry says. */
export const OUTCOME = {
  kind: 'outcome',
  userID: null,
  apiKeyID: null,
  path: null,
  assetType: null,
  assetID: null,
  action: '',
  type: 'API_REQUEST',
} as const;

const MAX_PATH_LENGTH = 500;

export function describeRequest(route: Route, request: Request, response: Response): JsonObject {
  const { body } = request as { body?: unknown };
  const isShown = body !== undefined && body !== null && !route.isPrivate;
  const beginning = beginningOf(response);
  return {
    operation: route.name,
    method: request.method,
    url: route.hasSecretPath ? route.path : readableURL(request.originalUrl),
    ip: request.ip ?? null,
    requestID: String(response.getHeader('x-request-id') ?? ''),
    headers: headersOf(route, request),
    ...(isShown && {
      body: beginning === undefined ? readable(body, hidingOf(route)) : readableText(beginning, hidingOf(route), true),
    }),
  };
}

function pathOf(route: Route, request: Request): string {
  return route.hasSecretPath ? route.path : request.path;
}

/** Headers without those that contain a secret of the path: browsers and proxies repeat the path there. */
function headersOf(route: Route, { headers, params }: Request): JsonObject {
  const shown = readableHeaders(headers);
  if (!route.hasSecretPath) return shown;
  const secrets = Object.values(params);
  const isHarmless = ([, value]: [string, Json]) => !secrets.some((secret) => String(value).includes(String(secret)));
  return Object.fromEntries(Object.entries(shown).filter(isHarmless));
}

export function bodyOf(route: Route, result: object): JsonObject {
  return { body: route.isSecret || route.isPrivate ? REDACTED : readable(result, hidingOf(route)) };
}

export function hidingOf({ hides, body }: Pick<Route, 'hides' | 'body'>): Hiding {
  return {
    names: hides && new Set(hides),
    ...(body && { mask: (copy) => maskSecrets(body, copy, REDACTED) }),
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The first asset that the path names below the tenant. */
function assetOf({ path }: Asked['route'], { params }: Request): Asset {
  for (const [, name = ''] of path.matchAll(/:(\w+)ID\b/g)) {
    if (name === 'tenant') continue;
    const id: unknown = params[`${name}ID`];
    if (typeof id === 'string' && uuid.test(id)) return { assetType: name, assetID: id.toLowerCase() };
  }
  return { assetType: null, assetID: null };
}
