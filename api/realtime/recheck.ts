import { readPolicyVersions } from '#shared/access/account-status.ts';
import { type AppError, toAppError } from '#shared/core/errors.ts';
import type { WidgetPayload } from '#shared/messaging/realtime/widget-events.ts';
import type { ApiContext } from '../context/context.ts';
import { stillSignedIn } from './client-events.ts';
import { noteOnSocket } from './sockets/audit-sockets.ts';
import { leave, tenantsOf } from './sockets/enter.ts';
import { requireGrant } from './sockets/join.ts';
import type { Bridge, ClientSocket } from './sockets/socket.ts';

/** Longest time that a socket stays after its user was blocked or removed, if the signal of it was lost. */
const ALL_MS = 10_000;
/** Longest time, but for the check itself, that a socket stays in a room after a change of rules took the permission. */
const CHANGED_MS = 1_000;

/** Re-checks the sockets of this process: all of them now and then, and those of a tenant soon after its rules have changed. */
export function startRechecks(sockets: () => Iterable<ClientSocket>, context: ApiContext): Disposable {
  const rounds = [
    every(ALL_MS, () => Promise.all([...sockets()].map((socket) => recheck(socket, context)))),
    every(CHANGED_MS, () => recheckChanged([...sockets()], context)),
  ];

  function every(ms: number, round: () => Promise<unknown>): NodeJS.Timeout {
    let isBusy = false;
    return setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      round()
        .catch((error) => context.logger.warn({ err: error }, 'sockets not re-checked; the next round will'))
        .finally(() => {
          isBusy = false;
        });
    }, ms).unref();
  }

  return {
    [Symbol.dispose]() {
      for (const timer of rounds) clearInterval(timer);
    },
  };
}

/**
 * Re-checks a socket. A user who is no longer signed in is disconnected. The connection of a user who has left a tenant is
 * closed: the client reconnects by itself and joins the rooms it still may. A socket leaves a room that it may no longer be in.
 * While the check fails, sockets stay.
 */
export async function recheck(socket: ClientSocket, context: ApiContext): Promise<void> {
  if (await isRefused(stillSignedIn(socket, context))) {
    socket.disconnect(true);
    return;
  }
  for (const tenantID of tenantsOf(socket)) if (await hasLeft(socket, tenantID, context)) return;
  await recheckRooms(socket, [...socket.data.rooms.keys()], context);
}

/** Compares versions instead of rules: one query of a few tenants, as long as no rule changes. */
async function recheckChanged(sockets: readonly ClientSocket[], context: ApiContext): Promise<void> {
  const tenants = new Set(sockets.flatMap(({ data }) => [...data.rooms.values()].map(({ grant }) => grant.tenantID)));
  if (tenants.size === 0) return;
  const versions = await readPolicyVersions(context.pool, [...tenants]);
  const rechecks = sockets.map(async (socket) => {
    const rooms = [...socket.data.rooms].filter(([, { grant, version }]) => versions.get(grant.tenantID) !== version);
    const changed = new Set(rooms.map(([, { grant }]) => grant.tenantID));
    for (const tenantID of changed) if (await hasLeft(socket, tenantID, context)) return;
    await recheckRooms(
      socket,
      rooms.map(([room]) => room),
      context,
    );
  });
  await Promise.all(rechecks);
}

/** Closes the connection if the user is no longer a member. */
async function hasLeft(socket: ClientSocket, tenantID: string, context: ApiContext): Promise<boolean> {
  if (!(await isRefused(requireGrant(context, socket.data.userID, { tenantID })))) return false;
  socket.conn.close();
  return true;
}

/**
 * Re-checks rooms, and tells the socket in which tenants rules have changed: once the new version is noted, no later
 * check sees the change.
 */
async function recheckRooms(socket: ClientSocket, rooms: readonly string[], context: ApiContext): Promise<void> {
  const changed = new Set<string>();
  for (const room of rooms) {
    const joined = socket.data.rooms.get(room);
    if (!joined) continue;
    const check = requireGrant(context, socket.data.userID, joined.grant);
    const refusal = await refusalOf(
      check.then((version) => {
        if (version !== joined.version) changed.add(joined.grant.tenantID);
        joined.version = version;
      }),
    );
    // The socket has left and joined again meanwhile: that join was checked on its own.
    if (!refusal || socket.data.rooms.get(room) !== joined) continue;
    changed.add(joined.grant.tenantID);
    leave(socket, room);
    if (joined.bridge) socket.emit('widget_workflow_error', endOf(joined.bridge, refusal));
    noteOnSocket(context.requests.audit, socket, { action: 'removed', grant: joined.grant, room });
  }
  for (const tenantID of changed) socket.emit('permissions_changed', { tenantID });
}

/** The message that a widget may no longer show its run. */
function endOf({ widgetID }: Bridge, { code, message }: AppError): WidgetPayload<'widget_workflow_error'> {
  const error = { code: 'CONNECTION_FAILED' as const, message, reason: code, recoverable: false };
  return { widgetID, error, timestamp: new Date().toISOString() };
}

async function isRefused(check: Promise<unknown>): Promise<boolean> {
  return (await refusalOf(check)) !== undefined;
}

/** The error, unless the check itself has failed. */
async function refusalOf(check: Promise<unknown>): Promise<AppError | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    const known = toAppError(error);
    return known.status < 500 ? known : undefined;
  }
}
