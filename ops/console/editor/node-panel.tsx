import { Button, CloseButton, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { PasteCurl } from '../curl/paste.tsx';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { InputList } from '../inputs/list.tsx';
import type { StepResult } from '../testing/results.ts';
import { type StepTab, StepTabs } from '../testing/step-tabs.tsx';
import { Icon } from '../ui/icon.tsx';
import { faultsWithin } from '../ui/schema-faults.ts';
import { OtherFaults, SchemaForm } from '../ui/schema-form.tsx';
import { propertiesOf } from '../ui/schema-shape.ts';
import { type Draft, type DraftNode, nameOf, withOptions } from './draft.ts';
import { reconfigured, type Where } from './edits.ts';
import { ExitsOfStep } from './exits-of-step.tsx';

/** Every field of a node may be one. */
const templates = { root: 'ctx', inIDs: true } as const;

interface Props {
  draft: Draft;
  node: DraftNode;
  kinds: Kinds;
  faults: ReadonlyMap<string, string>;
  /** Messages about fields with which the step has failed, by dotted paths. */
  failed: ReadonlyMap<string, string>;
  /** Faults of the options of the workflow, by dotted paths. */
  optionFaults: ReadonlyMap<string, string>;
  isReadOnly: boolean;
  onChange: (change: (draft: Draft) => Draft) => void;
  onSelect: (id: string) => void;
  onAdd: (where: Where) => void;
  onDuplicate: () => void;
  onDisable: () => void;
  onRemove: () => void;
  onClose: () => void;
  tab: StepTab;
  onTab: (tab: StepTab) => void;
  result: StepResult | undefined;
  isOutdated: boolean;
  /** Buttons with which the step is tested. */
  test: ReactNode;
  /** The result of the last test. */
  children: ReactNode;
}

/** One node: its settings, and where it leads. */
export function NodePanel(props: Props) {
  const {
    draft,
    node,
    kinds,
    faults,
    failed,
    optionFaults,
    isReadOnly,
    onChange,
    onSelect,
    onAdd,
    onDuplicate,
    onDisable,
    onRemove,
    onClose,
  } = props;
  const { tab, onTab, result, isOutdated, test, children } = props;
  const kind = kinds[node.type];
  const { word, icon, group } = wordsOf(node.type, kind);
  const isDisabled = node.data.isDisabled === true;
  const fields = Object.keys(propertiesOf(kind?.schema ?? {}));
  // Fields keep what is typed, so they begin anew when they are filled.
  const [fills, setFills] = useState(0);
  const others = [...faults].filter(([path]) => !fields.includes(path)).map(([path, text]) => `${path}: ${text}`);
  const settings = (
    <Stack gap="sm">
      <OtherFaults faults={others} />
      {sendsRequest(kind) && (
        <PasteCurl
          onFill={(request) => {
            onChange((old) => reconfigured(old, kinds, node.id, { ...node.data, ...request }));
            setFills(fills + 1);
          }}
        />
      )}
      {kind?.begins && (
        <InputList
          definitions={draft.options.inputDefinitions}
          faults={faultsWithin('inputDefinitions', optionFaults)}
          disabled={isReadOnly}
          onChange={(inputDefinitions) => onChange((old) => withOptions(old, { inputDefinitions }))}
        />
      )}
      {kind ? (
        <SchemaForm
          key={`${node.id} ${fills}`}
          form={kind}
          value={node.data}
          faults={faults.size > 0 ? faults : failed}
          templates={templates}
          onChange={(data) => onChange((old) => reconfigured(old, kinds, node.id, data))}
        />
      ) : (
        <Text size="sm">This server does not know the kind “{node.type}”.</Text>
      )}
      <ExitsOfStep draft={draft} node={node} kinds={kinds} onChange={onChange} onSelect={onSelect} onAdd={onAdd} />
      {kind?.begins || (
        <Group justify="flex-end" gap="xs">
          <Button variant="default" size="xs" onClick={onDuplicate}>
            Duplicate
          </Button>
          <Button variant="default" size="xs" onClick={onDisable}>
            {isDisabled ? 'Enable' : 'Disable'}
          </Button>
          <Button variant="default" size="xs" onClick={onRemove}>
            Remove the step
          </Button>
        </Group>
      )}
    </Stack>
  );
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="start">
        <div>
          <Text component="h2" fw={600}>
            <bdi>{nameOf(node)}</bdi>
          </Text>
          <Group gap={6}>
            <span className="node-icon" data-group={group}>
              <Icon name={icon} size={13} />
            </span>
            <Text size="xs" c="dimmed">
              {word}
              {isDisabled && ', disabled'} <code>{node.id}</code>
            </Text>
          </Group>
        </div>
        <CloseButton aria-label="Close the step" onClick={onClose} />
      </Group>
      {test}
      <StepTabs {...{ tab, onTab, result, isOutdated, settings }}>{children}</StepTabs>
    </Stack>
  );
}

/** Whether the fields of a kind are those of a request. */
function sendsRequest(kind: Kinds[string] | undefined): boolean {
  const fields = propertiesOf(kind?.schema ?? {});
  return ['url', 'method', 'headers', 'bodyType'].every((name) => fields[name] !== undefined);
}
