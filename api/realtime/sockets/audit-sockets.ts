import { type AuditRecord, wholeEntry } from '#shared/access/audit/records.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { AuditTrail } from '../../audit/trail.ts';
import type { Grant } from './join.ts';
import type { ClientSocket } from './socket.ts';

type SocketAction = 'connect' | 'join' | 'leave' | 'removed' | 'disconnect' | 'execute' | 'input' | 'refuse';

interface Done {
  action: SocketAction;
  grant: Grant;
  room?: string;
  more?: JsonObject;
}

/** An entry for what a socket does, to be written with it. */
export function socketEntry(socket: ClientSocket, { action, grant, room, more }: Done): AuditRecord {
  const { userID, ip } = socket.data;
  return wholeEntry({
    tenantID: grant.tenantID,
    type: 'SOCKET_ACTION',
    action,
    userID,
    ...((room !== undefined || action === 'refuse') && assetOf(grant)),
    ...(action === 'refuse' && { status: 403 }),
    details: { socketID: socket.id, ip, ...(room !== undefined && { room }), ...more },
  });
}

/**
 * Notes what a socket does in the trail of a tenant. A socket is of no tenant before it joins a room, so its connection is noted with the
 * first room of each tenant.
 */
export function noteOnSocket(audit: AuditTrail, socket: ClientSocket, done: Done): void {
  audit.note(socketEntry(socket, done));
}

/** The object of the permission, `workflow:<id>`; none for a whole type. */
function assetOf({ access }: Grant): { assetType?: string; assetID?: string } {
  const [assetType, assetID] = access?.object.split(':') ?? [];
  return assetType === undefined || assetID === undefined || assetID === '*' ? {} : { assetType, assetID };
}
