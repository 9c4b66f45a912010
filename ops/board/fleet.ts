import { Router } from 'express';
import type { FleetView } from '#api/fleet/fleet.ts';
import { openConsole } from '#api/http/console/console.ts';
import { presentFleet, presentFound, presentTenantState } from '#api/resources/fleet/present.ts';
import { TenantID, TenantSearch } from '#api/resources/fleet/schemas.ts';
import { AppError } from '#shared/core/errors.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import type { Config } from '#shared/process/config.ts';

/** The fleet page for people on call, and what it reads, at the addresses and with the answers of the API. */
export function fleetPages(config: Config, fleet: FleetView): Router {
  const { files, page } = openConsole(config, 'fleet.html', stateOf(config));
  const router = Router();
  router.use('/console', files);
  router.get(['/fleet', '/fleet/*path'], page);
  router.get('/api/v1/operator/fleet', async (_request, response) => {
    response.json({ success: true, ...presentFleet(await fleet.read()) });
  });
  router.get('/api/v1/operator/fleet/tenants', async ({ query }, response) => {
    const { success, data } = TenantSearch.safeParse(query);
    if (!success) throw new AppError('VALIDATION_ERROR', 'search must be a part of a title');
    response.json({ success: true, ...presentFound(await fleet.tenants(data.search)) });
  });
  router.get('/api/v1/operator/fleet/tenants/:tenantID', async ({ params }, response) => {
    const { success, data } = TenantID.safeParse(params);
    const state = success ? await fleet.tenant(data.tenantID) : undefined;
    if (!state) throw new AppError('NOT_FOUND', 'Tenant not found');
    response.json({ success: true, ...presentTenantState(state) });
  });
  return router;
}

/** The page's facts about the board: the queues that it can lead to, and whether operators sign out. */
function stateOf({ board: { openOnLoopback } }: Config) {
  return {
    queues: queues.flatMap(({ name, deadLetters }) => [name, ...(deadLetters === null ? [] : [deadLetters])]),
    signsOut: !openOnLoopback,
  };
}
