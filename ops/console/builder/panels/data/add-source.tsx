import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { dataQueryTextRead } from '../../../client/queries-of-tenant.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { Picker } from '../../../ui/picker.tsx';
import { addSource, idFieldOf, nameFrom, type SourceType, sourcesOf } from '../config.ts';
import type { PanelProps } from '../panel.ts';
import { PageValues } from '../values/values.tsx';
import { faultOfName } from './name-fault.ts';
import { changesIn, followedByAll } from './read-again.ts';
import { pickedTypeOf, pickedWordOf, wordOfType } from './source-types.ts';
import { triggerFor, triggers } from './trigger.ts';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  type: SourceType;
  onAdded: (alias: string) => void;
  onClose: () => void;
}

/** Adds a query, a workflow or a listener to the page: which one, its name in expressions, and its inputs. */
export function AddSource({ document, edit, type, onAdded, onClose }: Props) {
  const taken = sourcesOf(document.config).map(({ alias }) => alias);
  const [id, setID] = useState<string>();
  const [name, setName] = useState<string>();
  const [proposed, setProposed] = useState('');
  const [channelName, setChannel] = useState('');
  const [inputValues, setInputs] = useState<Readonly<Record<string, unknown>>>();
  const [chosenTrigger, setTrigger] = useState<string>();
  const tenantID = useTenantID();
  const { data: options } = useQuery({
    ...dataQueryTextRead({ tenantID, dataQueryID: id ?? '' }),
    enabled: type === 'query' && id !== undefined,
  });
  const trigger = chosenTrigger ?? triggerFor(options, inputValues);
  const alias = name ?? proposed;
  const fault = alias === '' ? undefined : faultOfName(alias, taken);
  const isReady =
    id !== undefined && alias !== '' && fault === undefined && (type !== 'listener' || channelName !== '');
  const add = () => {
    edit((old) => {
      const isRead = type === 'runs' || (type === 'query' && trigger !== 'manual');
      const follows = isRead ? changesIn(old) : [];
      const source = {
        ...{ alias, type, [idFieldOf[type]]: id },
        ...(type === 'query' && { triggerMode: trigger }),
        ...(type === 'runs' && { triggerMode: 'reactive' }),
        ...(type === 'listener' && { channelName }),
        ...(inputValues && { inputValues }),
        ...(follows.length > 0 && { refreshOn: follows }),
      };
      return followedByAll(addSource(old, source), type, alias);
    });
    onAdded(alias);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={`Add a ${wordOfType[type]} to the page`}
      size="lg"
    >
      <Stack gap="sm">
        <Text size="xs">{reasons[type]}</Text>
        <Picker
          types={[pickedTypeOf[type]]}
          label={pickedWordOf[type]}
          required
          value={id}
          onChange={(next, chosen) => {
            setID(next);
            setInputs(undefined);
            setTrigger(undefined);
            setProposed(nameFrom(chosen?.title ?? type, taken));
          }}
        />
        {id !== undefined && (
          <TextInput
            label="Name on this page"
            description={`Expressions read it by {{${type === 'workflow' ? 'workflows' : 'queries'}.${alias || '…'}}}`}
            required
            maxLength={255}
            value={alias}
            error={fault}
            onChange={({ currentTarget: { value } }) => setName(value.trim())}
          />
        )}
        {id !== undefined && type === 'listener' && (
          <TextInput
            label="Channel"
            description="As the listener's action that sends to this page names it"
            required
            value={channelName}
            onChange={({ currentTarget: { value } }) => setChannel(value)}
          />
        )}
        {id !== undefined && type === 'query' && (
          <PageValues document={document}>
            <DeclaredInputs
              type={pickedTypeOf[type]}
              id={id}
              label="Inputs"
              description={INPUTS}
              value={inputValues}
              root="queries"
              faultOf={() => undefined}
              other={null}
              onChange={setInputs}
            />
          </PageValues>
        )}
        {id !== undefined && type === 'query' && (
          <Select
            label="It is run"
            description="A query that changes something is run by an action alone"
            allowDeselect={false}
            data={triggers}
            value={trigger}
            onChange={(next) => setTrigger(next ?? undefined)}
          />
        )}
        <Group justify="flex-end">
          <Button disabled={!isReady} onClick={add}>
            Add to the page
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

export const INPUTS =
  'A value is the same for all viewers. An expression follows what each of them chooses on the page';

const reasons: Record<SourceType, string> = {
  query: 'The page reads its rows as you: viewers need no right to the query.',
  workflow: 'The page starts it as you: viewers need no right to the workflow. Buttons and forms give it its inputs.',
  listener: 'The page shows what the listener sends to it, as it comes.',
  runs: 'The page reads them as you: viewers need no right to the workflow. They see no inputs and no results.',
};
