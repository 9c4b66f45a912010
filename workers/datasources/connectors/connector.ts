import type { z } from 'zod';
import type { Logger } from '#shared/core/logger.ts';
import type { AnyDatasource } from '#shared/datasources/types/index.ts';
import type { Connection } from '../../connections/connection.ts';
import type { OutboundServices } from './outbound-services.ts';

/** Dependencies of a connector. */
export interface ConnectorContext extends OutboundServices {
  tenantID: string;
  logger: Logger;
}

/** Opens a datasource of one type. It may connect with the first call. */
export type Connector<D extends AnyDatasource> = (
  options: z.output<D['options']>,
  context: ConnectorContext,
) => Connection<D> | Promise<Connection<D>>;
