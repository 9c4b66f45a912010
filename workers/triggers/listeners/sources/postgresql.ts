import type { postgresql as postgresqlDatasource } from '#shared/datasources/types/postgresql.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { postgresql } from '#shared/triggers/listeners/types/postgresql.ts';
import { openPostgresConnection, type PostgresConnection } from '../../../connections/postgresql/connection.ts';
import { readably } from '../../../connections/postgresql/errors.ts';
import { endpointOf } from '../../../datasources/connectors/postgresql.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import { quoteName } from '../../../tenant-database/quote.ts';
import { answered, connecting, untilFailed, untilSilent } from './alive.ts';
import { publicationOf, readChanges, removeSlot, slotOf } from './postgresql-changes.ts';
import type { SourceOf } from './source.ts';

type PostgresSource = SourceOf<typeof postgresqlDatasource, typeof postgresql>;
type Context = Parameters<PostgresSource['receive']>[0];

export const postgresqlSource: PostgresSource = {
  async receive(context) {
    const { signal, config, options, services } = context;
    const connection = await openPostgresConnection(endpointOf(options), services.outbound.connect, connecting(signal));
    try {
      const lost = untilClosed(connection);
      const read = config.source === 'notifications' ? listen : readChanges;
      const work = readably(() => read(connection, context))(connection);
      await unlessAborted(signal, Promise.race([work, lost]));
    } finally {
      connection.close();
      connection.stream.destroy();
    }
  },
  remoteResourceOf: ({ config, listenerID }) =>
    config.source === 'changes' ? JSON.stringify([slotOf(listenerID), publicationOf(config, listenerID)]) : undefined,
  async removeRemoteResource({ options, config, listenerID, services, signal }) {
    const connection = await openPostgresConnection(endpointOf(options), services.outbound.connect, signal);
    try {
      await unlessAborted(signal, removeSlot(connection, config, listenerID));
    } finally {
      connection.close();
    }
  },
};

function untilClosed({ stream, where }: PostgresConnection): Promise<never> {
  const { failed, fail } = untilFailed();
  stream.once('close', () => fail(upstreamError('lost', where)));
  return failed;
}

async function listen(connection: PostgresConnection, context: Context): Promise<never> {
  const { driver, where, stream } = connection;
  const recordArrival = context.recordFrom(stream);
  driver.on('notification', ({ channel, payload = '', processId }) =>
    recordArrival({ body: Buffer.from(payload), meta: { channel, processID: processId } }),
  );
  const statement = namesIn(context.config.channels).map((name) => `listen ${quoteName(name)}`);
  await answered(where, context.signal, driver.query(statement.join(';')));
  context.ready();
  return await untilSilent(where, context, { ask: () => driver.query('select 1') });
}
