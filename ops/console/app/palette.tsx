import { Modal, Text, TextInput, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useMay } from '../client/may.ts';
import { tenantsRead, workflowsRead } from '../client/reads.ts';
import { type Area, areas } from '../settings/areas.ts';
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

/** Commands found by words: pages, workflows, tenants and settings. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const commands = useCommands(onKeys);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const words = typed.toLowerCase().split(/\s+/);
  const found = commands
    .filter(({ verb, name }) => words.every((word) => `${verb} ${name}`.toLowerCase().includes(word)))
    .slice(0, MAX_SHOWN);
  const chosen = Math.min(at, found.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is brought into view when it changes
  useEffect(
    () => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }),
    [chosen],
  );
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
        placeholder="A page, a workflow, a tenant …"
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
        {found.length === 0 ? 'Nothing matches.' : `${found.length} commands`}
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
  const canList = tenantID !== undefined && may('workflow.list');
  const { data: workflows = [] } = useQuery({ ...workflowsRead(tenantID ?? ''), enabled: canList });
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
    ...workflows.map(({ id, title }) => ({
      ...{ key: id, verb: 'Open the workflow', name: title },
      run: () =>
        navigate({
          to: '/t/$tenantID/workflows/$workflowID',
          params: { tenantID: inTenant, workflowID: id },
        }),
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
