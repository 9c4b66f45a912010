import { setImmediate as nextRound } from 'node:timers/promises';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { http } from '#shared/workflow/nodes/kinds/http.ts';
import { LINKS_ROOT } from '#shared/workflow/nodes/links-root.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import { evaluateIn, type Roots } from '#shared/workflow/templates/expressions.ts';
import { fillJSON } from '#shared/workflow/templates/fill-json.ts';
import { findTemplate } from '#shared/workflow/templates/templates.ts';
import { VARIABLES_ROOT } from '#shared/workflow/variables.ts';
import { RefusedWrite } from '../../connections/refused-write.ts';
import { mediaTypeOf, readBody, writeBody } from '../../datasources/http/body.ts';
import { addParams } from '../../datasources/http/endpoint.ts';
import { statusError } from '../../datasources/http/status.ts';
import type { HTTPRequest } from '../../outbound/fetch.ts';
import { headersOf } from '../../outbound/headers.ts';
import type { Executor, NodeRun, Task } from '../executor.ts';
import { fillURL } from '../fill-url.ts';
import { maskOutput } from '../mask.ts';

type Config = Task<typeof http>['config'];

/** After parsing a longer answer, other work of the event loop runs first. */
const LARGE_BYTES = 250_000;

export const runHTTP: Executor<typeof http> = async ({ config, run, signal }, { fetch }) => {
  const response = await fetch(requestOf(config, run), signal);
  const { secrets } = run.variables;
  if (config.failOnStatus && response.status >= 400) throw statusError(response, secrets);
  const { status, headers } = response;
  const answer = await readAnswer();
  // Writing the output will block the event loop for as long as parsing did.
  if (response.body.length > LARGE_BYTES) await nextRound();
  const output = {
    status,
    headers: { ...headers },
    success: status < 400,
    [config.outputVariable]: answer,
  };
  return { output: maskOutput(output, secrets), exit: 'success' };

  /** Reads an error, and a redirect that is not followed, by its own content type, because it is seldom what `responseType` says. */
  function readAnswer(): Promise<Json> {
    const isOther = status >= 300 && config.responseType === 'json';
    return readBody(response, isOther ? 'auto' : config.responseType);
  }
};

function requestOf(config: Config, run: NodeRun): HTTPRequest {
  const url = urlOf(config, run);
  const { method, bodyType } = config;
  const isRead = method === 'GET' || method === 'HEAD';
  if (run.isDryRun && !isRead) throw new RefusedWrite(`${method} ${url.origin}${url.pathname}`);
  const body = isRead ? null : bodyOf(config, run);
  const headers = {
    accept: 'application/json, */*;q=0.5',
    ...(body !== null && { 'content-type': mediaTypeOf(bodyType) }),
    ...(!isRead && { 'idempotency-key': encodeURIComponent(run.idempotencyKey) }),
    ...headersOf(config.headers),
  };
  return { url, method, headers, body, followRedirects: config.followRedirects };
}

/** Writes the body. A text is in the format of the body already; a text that is a single template is replaced by the template's value. */
function bodyOf({ bodyType, body }: Config, run: NodeRun): string | null {
  const roots = rootsOf(run);
  if (typeof body === 'string' && bodyType !== 'text' && !findTemplate(body)?.whole)
    return writeBody(
      bodyType,
      fillJSON('body', body, (expression) => evaluateIn(expression, roots)),
    );
  const value = resolveTemplates(body, run.scope, { more: roots });
  return bodyType === 'json' && typeof value === 'string' ? JSON.stringify(value) : writeBody(bodyType, value);
}

function rootsOf({ scope, variables: { values, links } }: NodeRun): Roots {
  return { ctx: scope, [VARIABLES_ROOT]: values, [LINKS_ROOT]: links };
}

function urlOf(config: Config, run: NodeRun): URL {
  const filled = fillURL(config.url, rootsOf(run));
  if ('fault' in filled) throw invalidField('url', filled.fault);
  const url = URL.parse(filled.url);
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalidField('url', 'must be an address that begins with http:// or https://');
  addParams(url, config.queryParams);
  return url;
}
