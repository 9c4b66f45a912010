import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Socket } from 'socket.io-client';
import { io } from 'socket.io-client';
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
  socket ??= io('/operator', {
    transports: ['websocket', 'polling'],
    reconnectionDelay: 500,
    reconnectionDelayMax: 4_000,
  });
  return socket;
}

/** Writes what the room is told into what was read, the fleet's or a tenant's. Whether it is told at present. */
export function useFleetRoom(tenantID?: string): boolean {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  useEffect(() => {
    const own = getSocket();
    const room = tenantID === undefined ? 'fleet' : `fleet:${tenantID}`;
    const join = () => own.emit('join_room', room, ({ success }) => setLive(success));
    const onFleet = (fleet: Schemas['Fleet']) =>
      void queries.setQueryData(fleetRead.queryKey, (old) => old && { ...old, ...fleet });
    const onTenant = (tenant: Schemas['FleetTenantState']) =>
      void queries.setQueryData(tenantRead(tenant.tenantID).queryKey, (old) => old && { ...old, ...tenant });
    const onLost = (reason: string) => {
      setLive(false);
      // The client does not come back by itself when the server has closed the socket.
      if (reason === 'io server disconnect') setTimeout(() => own.connect(), 1_000);
    };
    own.on('connect', join).on('disconnect', onLost).on('fleet_update', onFleet).on('fleet_tenant_update', onTenant);
    if (own.connected) join();
    return () => {
      own
        .off('connect', join)
        .off('disconnect', onLost)
        .off('fleet_update', onFleet)
        .off('fleet_tenant_update', onTenant);
      own.emit('leave_room', room);
    };
  }, [tenantID, queries]);
  return isLive;
}
