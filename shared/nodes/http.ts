import { z } from 'zod';
import { Pairs } from '../datasources/http-fields.ts';
import { Json } from '../json.ts';
import { VARIABLES_ROOT } from '../variables.ts';
import { faultsOf, findTemplate } from '../workflow/templates.ts';
import { OutputVariable, working } from './common.ts';
import { defineNode } from './define-node.ts';
import { LINKS_ROOT } from './links-root.ts';

/** One request to any address. A workflow stores no secrets: they are variables of the tenant, or belong to a datasource. */
export const http = defineNode({
  kind: 'http',
  label: 'HTTP request',
  config: z.object({
    ...working,
    url: z
      .string()
      .min(1)
      .max(8_000)
      .superRefine((url, issues) => {
        const [message] = faultsOf(findTemplate(url), 'ctx', VARIABLES_ROOT, LINKS_ROOT);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      })
      .meta({ title: 'URL', description: 'Address of the request; templates in it are encoded for their place' }),
    method: z
      .enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
      .default('GET')
      .meta({ title: 'Method', description: 'GET and HEAD read; the others change something there' }),
    headers: Pairs.meta({ title: 'Headers', description: 'Headers of the request' }),
    queryParams: Pairs.meta({ title: 'Query', description: 'Parameters that are added to the URL' }),
    bodyType: z
      .enum(['json', 'text', 'form'])
      .default('json')
      .meta({ title: 'Body type', description: 'How the body is written, and its content type' }),
    body: Json.default(null).meta({
      title: 'Body',
      description: 'What is sent; nothing if null',
      contentMediaType: 'application/json',
    }),
    responseType: z
      .enum(['auto', 'json', 'text', 'base64'])
      .default('auto')
      .meta({ title: 'Answer type', description: 'How the answer is read; `auto` follows its content type' }),
    followRedirects: z
      .boolean()
      .default(true)
      .meta({ title: 'Follow redirects', description: 'Ask again where the answer points to' }),
    failOnStatus: z
      .boolean()
      .default(true)
      .meta({ title: 'Fail on error status', description: 'A status of 400 or above fails the node' }),
    outputVariable: OutputVariable('httpResponse'),
  }),
  names: {},
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: true,
  // Resolved by the executor, which encodes values for their place in the URL.
  raw: ['url'],
  filled: ['url'],
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
