import type { ImportJobUpdate } from '#shared/messaging/realtime/import-jobs.ts';
import type { ApiContext } from '../../context/context.ts';
import { type ClientSocket, hasCapacity } from '../sockets/socket.ts';

/** Sends the update to the sockets of its user in this process, while the user is a member. Slow sockets are skipped. */
export async function sendImportUpdate(
  sockets: () => Iterable<ClientSocket>,
  { logger, access: { authenticator } }: Pick<ApiContext, 'access' | 'logger'>,
  update: ImportJobUpdate,
): Promise<void> {
  const { userID, tenantID } = update;
  const own = () => [...sockets()].filter(({ data }) => data.userID === userID);
  if (own().length === 0) return;
  try {
    if (!(await authenticator.findMembership(userID, tenantID))) return;
    for (const socket of own()) if (hasCapacity(socket)) socket.emit('import_job_update', update);
  } catch (error) {
    logger.warn({ err: error }, 'an update of an import is not sent');
  }
}
