import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { tenantsRead } from '../client/reads.ts';
import { type Found, searchRead } from '../client/search.ts';
import { signOut } from '../client/sign-out.ts';
import { type Area, areas } from '../settings/areas.ts';
import { type Command, CommandDialog, usePageCommands, useSearched, wordsOf } from '../shell/command-dialog.tsx';
import { type Page, pages } from '../shell/pages.ts';
import { wordOf } from '../ui/status.tsx';

/** Commands found by words: pages, tenants and settings, and what the tenant has. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [typed, setTyped] = useState('');
  const commands = useCommands(onKeys);
  const { assets, isSearching } = useAssets(typed);
  return (
    <CommandDialog
      placeholder="A page, a title, a run, a tenant …"
      typed={typed}
      onType={setTyped}
      commands={commands}
      found={assets}
      isSearching={isSearching}
      onClose={onClose}
    />
  );
}

function useCommands(onKeys: () => void): Command[] {
  const { tenantID } = useParams({ strict: false });
  const navigate = useNavigate();
  const may = useMay();
  const ofPage = usePageCommands({ onKeys, onSignOut: () => void signOut() });
  const { data: tenants = [] } = useQuery(tenantsRead);
  const ofTenant = (inTenant: string): Command[] => [
    ...pages
      .filter(({ needs }: Page) => needs.length === 0 || needs.some(may))
      .map(({ to, title }) => ({
        ...{ key: to, verb: 'Go to', name: title },
        run: () => navigate({ to, params: { tenantID: inTenant } }),
      })),
    ...areas
      .filter(({ needs }: Area) => may(needs))
      .map(({ to, title }) => ({
        ...{ key: `settings ${to}`, verb: 'Change the settings:', name: title },
        run: () => navigate({ to, params: { tenantID: inTenant } }),
      })),
  ];
  return [
    ...(tenantID === undefined ? [] : ofTenant(tenantID)),
    ...tenants
      .filter((one) => one.tenantID !== tenantID)
      .map((one) => ({
        ...{ key: one.tenantID, verb: 'Change to the tenant', name: one.tenantTitle },
        run: () => navigate({ to: '/t/$tenantID', params: { tenantID: one.tenantID } }),
      })),
    ...ofPage,
  ];
}

const verbs: Record<Found['type'], string> = {
  workflow: 'Open the workflow',
  run: 'Open the run',
  dataQuery: 'Open the query',
  datasource: 'Open the datasource',
  cronJob: 'Open the cron job',
  listener: 'Open the listener',
};
const verbWords = wordsOf(Object.values(verbs));

/** Assets of the tenant whose title contains the text; words such as “open the query” may stand before it. */
function useAssets(typed: string): { assets: Command[]; isSearching: boolean } {
  const { tenantID = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const text = useSearched(typed, verbWords);
  const isWanted = tenantID !== '' && text !== undefined;
  const { data = [], isFetching } = useQuery({ ...searchRead(tenantID, text ?? ''), enabled: isWanted });
  const assets = (isWanted ? data : []).map(({ type, id, title, status }) => ({
    ...{ key: id, verb: verbs[type] },
    name: status ? `${title} · ${wordOf(status)} · ${id.slice(-8)}` : title,
    run: () => navigate(routeOf(tenantID, type, id)),
  }));
  return { assets, isSearching: isWanted && isFetching };
}

function routeOf(tenantID: string, type: Found['type'], id: string) {
  const routes = {
    workflow: { to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID: id } },
    run: { to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID: id } },
    dataQuery: { to: '/t/$tenantID/queries/$dataQueryID', params: { tenantID, dataQueryID: id } },
    datasource: { to: '/t/$tenantID/datasources/$datasourceID', params: { tenantID, datasourceID: id } },
    cronJob: { to: '/t/$tenantID/cron/$cronJobID', params: { tenantID, cronJobID: id } },
    listener: { to: '/t/$tenantID/listeners/$listenerID', params: { tenantID, listenerID: id } },
  } as const;
  return routes[type];
}
