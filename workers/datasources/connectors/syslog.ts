import { invalidField } from '#shared/core/schema/issues.ts';
import type { syslog } from '#shared/datasources/types/syslog.ts';
import type { Connector } from './connector.ts';

export const connectSyslog: Connector<typeof syslog> = ({ port }, { tenantID, syslogPorts }) => ({
  async test() {
    requireOwnPort(port, { tenantID, syslogPorts });
  },
  async execute() {
    throw invalidField('datasourceType', 'a syslog datasource has no queries: listeners receive what is sent to it');
  },
  async [Symbol.asyncDispose]() {},
});

/** An operator gives each port to one tenant: if two had the same port, one would receive the messages of the other. */
export function requireOwnPort(
  port: number,
  { tenantID, syslogPorts }: { tenantID: string; syslogPorts: ReadonlyMap<number, string> },
): void {
  if (syslogPorts.get(port) !== tenantID)
    throw invalidField(
      'datasourceOptions.port',
      `port ${port} is not given to this tenant: ask an operator of this deployment`,
    );
}
