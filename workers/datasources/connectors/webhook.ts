import { invalidField } from '#shared/core/schema/issues.ts';
import type { webhook } from '#shared/datasources/types/webhook.ts';
import type { Connector } from './connector.ts';

/** Senders call this service, so there is no server to reach. */
export const connectWebhook: Connector<typeof webhook> = () => ({
  async test() {},
  async execute() {
    throw invalidField('datasourceType', 'a webhook datasource has no queries: listeners receive what it sends');
  },
  async [Symbol.asyncDispose]() {},
});
