import { Modal, Text, TextInput, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useMay } from '../client/may.ts';
import { tenantsRead } from '../client/reads.ts';
import { type Found, searchRead } from '../client/search.ts';
import { type Area, areas } from '../settings/areas.ts';
import { wordOf } from '../ui/status.tsx';
import { type Page, pages } from './pages.ts';
import { endSession } from './session.ts';

interface Command {
  key: string;
  /** What it does, before the name. */
  verb: string;
  name: string;
  run: () => unknown;
}

/** So many fit; the others are found by typing more. */
const MAX_SHOWN = 12;

/** Of them, so many may be pages and settings: what the tenant has is shown as well. */
const MAX_OWN = 7;
const TYPING_MS = 150;

/** Commands found by words: pages, tenants and settings, and what the tenant has. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const commands = useCommands(onKeys);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const words = typed.toLowerCase().split(/\s+/);
  const own = commands.filter(({ verb, name }) =>
    words.every((word) => `${verb} ${name}`.toLowerCase().includes(word)),
  );
  const { assets, isSearching } = useAssets(typed);
  const found = [...own.slice(0, assets.length > 0 ? MAX_OWN : MAX_SHOWN), ...assets].slice(0, MAX_SHOWN);
  const chosen = Math.min(at, found.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is brought into view when it changes
  useEffect(() => {
    // What it answers is not for React: a promise in newer browsers.
    void list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    void command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') run(found[chosen]);
    else if (step && found.length > 0) setAt((chosen + step + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  return (
    <Modal opened onClose={onClose} title="Commands">
      <TextInput
        aria-label="Command"
        placeholder="A page, a title, a run, a tenant …"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={found[chosen] && `${id} ${chosen}`.replace(' ', '-')}
        data-autofocus
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div ref={list} id={id} role="listbox" aria-label="Commands that match" className="commands">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
          <div
            key={command.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="command"
            onClick={() => run(command)}
          >
            {command.verb} <bdi>{command.name}</bdi>
          </div>
        ))}
      </div>
      <Text size="sm" role="status" className={found.length > 0 ? 'unseen' : undefined} mt="xs">
        {found.length > 0 ? `${found.length} commands` : isSearching ? 'Searching …' : 'Nothing matches.'}
      </Text>
    </Modal>
  );
}

function useCommands(onKeys: () => void): Command[] {
  const { tenantID } = useParams({ strict: false });
  const navigate = useNavigate();
  const may = useMay();
  const { setColorScheme } = useMantineColorScheme();
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
    ...(['light', 'dark', 'auto'] as const).map((scheme) => ({
      ...{ key: scheme, verb: 'Use colours', name: scheme === 'auto' ? 'of the system' : scheme },
      run: () => setColorScheme(scheme),
    })),
    { key: 'keys', verb: 'Show the', name: 'keys', run: onKeys },
    { key: 'out', verb: 'Sign', name: 'out', run: () => endSession() },
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
const verbWords = new Set(Object.values(verbs).join(' ').toLowerCase().split(' '));

/** What the tenant has whose title contains the text; words such as “open the query” may stand before it. */
function useAssets(typed: string): { assets: Command[]; isSearching: boolean } {
  const { tenantID = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const words = typed.trim().toLowerCase().split(/\s+/);
  const first = words.findIndex((word) => !verbWords.has(word));
  const [text] = useDebouncedValue(words.slice(Math.max(first, 0)).join(' '), TYPING_MS);
  const isWanted = tenantID !== '' && text.length > 1;
  const { data = [], isFetching } = useQuery({ ...searchRead(tenantID, text), enabled: isWanted });
  const assets = (isWanted ? data : []).map(({ type, id, title, status }) => ({
    ...{ key: id, verb: verbs[type] },
    name: status ? `${title} · ${wordOf(status)} · ${id.slice(-8)}` : title,
    run: () => navigate(placeOf(tenantID, type, id)),
  }));
  return { assets, isSearching: isWanted && isFetching };
}

function placeOf(tenantID: string, type: Found['type'], id: string) {
  const places = {
    workflow: { to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID: id } },
    run: { to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID: id } },
    dataQuery: { to: '/t/$tenantID/queries/$dataQueryID', params: { tenantID, dataQueryID: id } },
    datasource: { to: '/t/$tenantID/datasources/$datasourceID', params: { tenantID, datasourceID: id } },
    cronJob: { to: '/t/$tenantID/cron/$cronJobID', params: { tenantID, cronJobID: id } },
    listener: { to: '/t/$tenantID/listeners/$listenerID', params: { tenantID, listenerID: id } },
  } as const;
  return places[type];
}
