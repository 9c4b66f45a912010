import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { Pairs } from '../../../core/schema/pairs.ts';
import { faultsOf, hasBraces } from '../../templates/expressions.ts';
import { findTemplate, textsOf } from '../../templates/templates.ts';
import { VARIABLES_ROOT } from '../../variables.ts';
import { OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { LINKS_ROOT } from '../links-root.ts';

/** One request to any address. A workflow stores no secrets: templates insert secret variables of the tenant. */
export const http = defineNode({
  kind: 'http',
  label: 'HTTP request',
  config: z
    .object({
      ...working,
      url: z.string().min(1).max(8_000).superRefine(checkTemplates).meta({
        title: 'URL',
        description: 'Address of the request; values of expressions in it are encoded for their place',
      }),
      method: z
        .enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
        .default('GET')
        .meta({ title: 'Method', description: 'GET and HEAD read; the others change something there' }),
      headers: Pairs.meta({ title: 'Headers', description: 'Headers of the request' }),
      queryParams: Pairs.meta({ title: 'Query', description: 'Parameters that are added to the URL' }),
      bodyType: z
        .enum(['json', 'text', 'form'])
        .meta({ 'x-enumNames': ['JSON', 'Text', 'Form'] })
        .default('json')
        .meta({ title: 'Body type', description: 'How the body is written, and its content type' }),
      body: Json.default(null).superRefine(checkTemplates).meta({
        title: 'Body',
        description: 'What is sent, as the body type says; nothing if empty',
        contentMediaType: 'application/json',
      }),
      responseType: z
        .enum(['auto', 'json', 'text', 'base64'])
        .meta({ 'x-enumNames': ['As its content type says', 'JSON', 'Text', 'Bytes, as base64'] })
        .default('auto')
        .meta({ title: 'Answer type', description: 'How the answer is read' }),
      followRedirects: z
        .boolean()
        .default(true)
        .meta({ title: 'Follow redirects', description: 'Requests the address to which the answer redirects' }),
      failOnStatus: z.boolean().default(true).meta({
        title: 'Fail on error status',
        description: 'The step fails if the status of the answer is 400 or above',
      }),
      outputVariable: OutputVariable('httpResponse'),
    })
    .refine(({ bodyType, body }) => bodyType === 'text' || typeof body !== 'string' || mayBeJSON(body), {
      path: ['body'],
      message: 'is not valid JSON: with the body type "text", a text is sent as it is',
    }),
  names: {},
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: true,
  // Resolved by the executor, which encodes values for their place in the URL, or in JSON.
  raw: ['url', 'body'],
  filled: ['url', 'body'],
  secrets: ['url', 'headers', 'queryParams', 'body'],
  links: ['url', 'headers', 'queryParams', 'body'],
  timeoutSeconds: 60,
  defaultValue: {
    title: 'HTTP request',
    url: 'https://api.example.com/items',
    method: 'GET',
    outputVariable: 'httpResponse',
  },
});

function checkTemplates(value: Json, issues: z.core.$RefinementCtx): void {
  for (const { path, template } of textsOf(value, [], hasBraces))
    for (const message of faultsOf(template, 'ctx', VARIABLES_ROOT, LINKS_ROOT).take(1))
      issues.addIssue({ code: 'custom', path, message });
}

/** Whether a text may be JSON. One with templates is checked only when its values are filled in. */
function mayBeJSON(text: string): boolean {
  if (text.trim() === '' || findTemplate(text)) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
