import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Socket } from 'socket.io-client';
import { io } from 'socket.io-client';
import { type Connection, connectionOptions, pollAfterTimeouts } from '../client/connection.ts';
import type { Schemas } from '../client/types.ts';
import { fleetRead, tenantRead } from './client.ts';

interface ServerEvents {
  fleet_update: (fleet: Schemas['Fleet']) => void;
  fleet_tenant_update: (tenant: Schemas['FleetTenantState']) => void;
}
interface ClientEvents {
  join_room: (room: string, answer: (joined: { success: boolean }) => void) => void;
  leave_room: (room: string) => void;
}

let socket: Socket<ServerEvents, ClientEvents> | undefined;

/** One for the page. Its operator is known by the cookie. */
function getSocket() {
  if (socket) return socket;
  socket = io('/operator', connectionOptions);
  pollAfterTimeouts(socket);
  return socket;
}

/** Writes what the room is told into what was read, the fleet's or a tenant's. Whether it is told at present. */
export function useFleetRoom(tenantID?: string): Connection {
  const queries = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    const own = getSocket();
    const room = tenantID === undefined ? 'fleet' : `fleet:${tenantID}`;
    const join = () => own.emit('join_room', room, ({ success }) => setConnection(success ? 'live' : 'lost'));
    const onFleet = (fleet: Schemas['Fleet']) =>
      void queries.setQueryData(fleetRead.queryKey, (old) => old && { ...old, ...fleet });
    const onTenant = (tenant: Schemas['FleetTenantState']) =>
      void queries.setQueryData(tenantRead(tenant.tenantID).queryKey, (old) => old && { ...old, ...tenant });
    const onFailure = () => setConnection('lost');
    const onLost = (reason: string) => {
      setConnection('lost');
      // The client does not come back by itself when the server has closed the socket.
      if (reason === 'io server disconnect') setTimeout(() => own.connect(), 1_000);
    };
    own
      .on('connect', join)
      .on('connect_error', onFailure)
      .on('disconnect', onLost)
      .on('fleet_update', onFleet)
      .on('fleet_tenant_update', onTenant);
    if (own.connected) join();
    return () => {
      own
        .off('connect', join)
        .off('connect_error', onFailure)
        .off('disconnect', onLost)
        .off('fleet_update', onFleet)
        .off('fleet_tenant_update', onTenant);
      own.emit('leave_room', room);
    };
  }, [tenantID, queries]);
  return connection;
}
