import { z } from 'zod';
import { defineListener } from './define-listener.ts';
import { orderBy } from './order-key.ts';

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
      .meta({ title: 'Severity', description: 'The least severe that counts' }),
    facilityFilter: z.string().max(1_000).default('').meta({
      title: 'Facilities',
      description: 'With commas between them, such as auth, local0; empty: all',
    }),
    hostnameFilter: z.string().max(10_000).default('').meta({
      title: 'Hosts',
      description: 'With commas between them; empty: all',
    }),
  }),
  defaults: { severityFilter: 'all' },
});
