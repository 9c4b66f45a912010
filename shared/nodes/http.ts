import { z } from 'zod';
import { Json } from '../json.ts';
import { VARIABLES_ROOT } from '../variables.ts';
import { faultsOf, findTemplate } from '../workflow/templates.ts';
import { Identifier, working } from './common.ts';
import { defineNode } from './define-node.ts';

const Pairs = z
  .array(z.object({ key: z.string().min(1).max(200), value: Json.default('') }))
  .max(50)
  .default([]);

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
        const [message] = faultsOf(findTemplate(url), 'ctx', VARIABLES_ROOT);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      }),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']).default('GET'),
    headers: Pairs,
    queryParams: Pairs,
    bodyType: z.enum(['json', 'text', 'form']).default('json'),
    body: Json.default(null),
    responseType: z.enum(['auto', 'json', 'text', 'base64']).default('auto'),
    followRedirects: z.boolean().default(true),
    /** Whether a status of 400 or above fails the node. */
    failOnStatus: z.boolean().default(true),
    outputVariable: Identifier.default('httpResponse'),
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
  timeoutSeconds: 60,
  defaultValue: {
    title: 'HTTP request',
    url: 'https://api.example.com/items',
    method: 'GET',
    outputVariable: 'httpResponse',
  },
});
