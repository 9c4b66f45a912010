import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useEffect, useRef, useState } from 'react';
import { referenceRead } from '../../../client/references.ts';
import { IDLE, type SourceState } from '../../../page/state/source.ts';
import { createStore } from '../../../page/state/store.ts';
import { useStore } from '../../../page/widgets/page-context.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { countOf } from '../../../ui/count.ts';
import { isID } from '../../../ui/picked.ts';
import { boundBy, type Source, type SourceType, sourcesOf, withSource } from '../config.ts';
import type { PanelProps } from '../panel.ts';
import { UsedBy } from '../used-by.tsx';
import { PageOnCanvas } from '../values/page-now.tsx';
import { AddSource } from './add-source.tsx';
import { SourceForm } from './source-form.tsx';
import { pickedTypeOf, wordOfType } from './source-types.ts';

/** The data of a page: queries that it reads, workflows that it starts, and listeners whose messages it shows. */
export function DataPanel(props: PanelProps) {
  const { document, edit } = props;
  const [adding, setAdding] = useState<SourceType>();
  const [opened, setOpened] = useState<string>();
  const sources = sourcesOf(document.config);
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600}>
          Data
        </Text>
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button size="compact-sm" variant="default">
              Add data
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {(['query', 'workflow', 'listener', 'runs'] as const).map((type) => (
              <Menu.Item key={type} onClick={() => setAdding(type)}>
                A {wordOfType[type]}
                <Text component="span" display="block" size="xs" c="dimmed">
                  {hints[type]}
                </Text>
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Group>
      <Text size="xs" c="dimmed">
        Viewers read it as you, the creator of the page: they need no right to what is listed here.
      </Text>
      {sources.length === 0 && (
        <Text size="sm">
          None yet. Add a query to show its rows, or a workflow that a button starts; “Add data” also makes a new query.
        </Text>
      )}
      {sources.map((source) => (
        <OneSource
          key={`${source.type} ${source.alias}`}
          {...props}
          source={source}
          isOpen={source.alias === opened}
          onRenamed={setOpened}
          onRemove={() => edit((old) => withSource(old, source.alias, undefined))}
        />
      ))}
      {adding && (
        <AddSource
          {...{ document, edit }}
          type={adding}
          onAdded={(alias) => {
            setAdding(undefined);
            setOpened(alias);
          }}
          onClose={() => setAdding(undefined)}
        />
      )}
    </Stack>
  );
}

const hints: Record<SourceType, string> = {
  query: 'Its rows are shown by tables, figures and lists',
  workflow: 'Buttons and forms start it',
  listener: 'Its messages are shown as they come',
  runs: 'Those of one workflow: their state, who started them and how long they took',
};

interface SourceProps extends PanelProps {
  source: Source;
  isOpen: boolean;
  onRenamed: (alias: string) => void;
  onRemove: () => void;
}

function OneSource({ source, isOpen, onRemove, ...props }: SourceProps) {
  const { alias, type } = source;
  const id = boundBy(source);
  const tenantID = useTenantID();
  const { data: named } = useQuery({
    ...referenceRead(tenantID, pickedTypeOf[type], id ?? ''),
    enabled: id !== undefined && isID(id),
  });
  const box = useRef<HTMLDetailsElement>(null);
  // The one that was added stands behind all others, which may fill the panel.
  useEffect(() => {
    if (isOpen) box.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  return (
    <details ref={box} className="group" open={isOpen}>
      <summary>
        <bdi>{alias}</bdi>{' '}
        <Text component="span" size="xs" fw={400}>
          {wordOfType[type]} <bdi>{named?.title}</bdi>
        </Text>
      </summary>
      <Stack gap="sm">
        {type !== 'workflow' && <Now alias={alias} />}
        <UsedBy
          document={props.document}
          onChoose={props.onChoose}
          root={type === 'workflow' ? 'workflows' : 'queries'}
          name={alias}
        />
        <SourceForm {...props} source={source} />
        <div>
          <Button size="compact-xs" variant="default" onClick={onRemove}>
            Take it off the page
          </Button>
        </div>
      </Stack>
    </details>
  );
}

const NOTHING = createStore<SourceState>(IDLE);

/** How it stands with the data on the canvas. */
function Now({ alias }: { alias: string }) {
  const page = useContext(PageOnCanvas);
  const { status, data, error, rowCount } = useStore(page?.query(alias) ?? NOTHING);
  const rows = rowCount ?? (Array.isArray(data) ? data.length : undefined);
  const said = {
    idle: 'Not read yet',
    loading: 'Reading …',
    ready: rows === undefined ? 'Read' : `${countOf(rows, 'row')} on the page now`,
    failed: `Reading it has failed: ${error?.message ?? ''}`,
  }[status];
  return (
    <Text size="xs" className={status === 'failed' ? 'error-text' : undefined}>
      <bdi>{said}</bdi>
    </Text>
  );
}
