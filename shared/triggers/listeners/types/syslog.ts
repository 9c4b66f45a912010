import { z } from 'zod';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** From the most to the least severe. */
export const severities = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'] as const;

/** Messages of the syslog protocol. */
export const syslog = defineListener({
  type: 'syslog',
  label: 'Syslog',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    severityFilter: z
      .enum(['all', ...severities])
      .default('all')
      .meta({
        title: 'Severity',
        description: 'The least severe messages that are events, such as warning; `all`: every message is one',
      }),
    facilityFilter: z.string().max(1_000).default('').meta({
      title: 'Facilities',
      description: 'Names with commas between them, such as auth, local0. Empty: all',
    }),
    hostnameFilter: z.string().max(10_000).default('').meta({
      title: 'Hosts',
      description: 'Names as the messages have them, with commas between them, such as web1, web2. Empty: all',
    }),
  }),
  defaults: { severityFilter: 'all' },
});
