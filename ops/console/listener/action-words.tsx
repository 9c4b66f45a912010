import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type PickedType, referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { withoutTurning } from '../code/turning.ts';
import { conditionsOf } from '../graph/summary.ts';
import { OpenLink, useTenantID } from '../ui/asset-title.tsx';
import { wordsOfKey } from '../ui/field-words.ts';
import { JSONView } from '../ui/json.tsx';
import { propertiesOf } from '../ui/schema-shape.ts';

type Config = Readonly<Record<string, unknown>>;

/** Fields of an action that name what it uses. */
const names: Readonly<Record<string, PickedType>> = {
  workflowID: 'workflow',
  dataQueryID: 'dataQuery',
  appPageID: 'appPage',
};

interface Props {
  /** Absent where this server knows no such action. */
  form: Schemas['ListenerActionForm'] | undefined;
  config: Config;
}

/** An action in words: what it starts by its title, conditions as a sentence, code as code, and the rest by the titles of its fields. */
export function ActionWords({ form, config }: Props) {
  const { script, conditions, conditionLogic, ...others } = config;
  const told = conditionsOf({ conditions, conditionLogic });
  const properties = propertiesOf(form?.schema ?? {});
  const titleOf = (name: string) => String(properties[name]?.title ?? wordsOfKey(name));
  const isNamed = ([name, value]: [string, unknown]) => names[name] !== undefined && typeof value === 'string';
  const rest = Object.entries(others).filter((one) => !isNamed(one) && one[1] !== undefined && !isEmpty(one[1]));
  const plain = rest.filter(([, value]) => typeof value !== 'object');
  return (
    <>
      {Object.entries(others)
        .filter(isNamed)
        .map(([name, id]) => (
          <NamedAsset key={name} type={names[name] ?? 'workflow'} id={String(id)} />
        ))}
      {told !== '' && (
        <Text size="sm">
          Events go on if <bdi>{withoutTurning(told)}</bdi>
        </Text>
      )}
      {typeof script === 'string' && <JSONView value={script} label={`Code of ${form?.label ?? 'the action'}`} />}
      {plain.map(([name, value]) => (
        <Text key={name} size="sm">
          {titleOf(name)}: <bdi>{withoutTurning(String(value))}</bdi>
        </Text>
      ))}
      {rest
        .filter(([, value]) => typeof value === 'object')
        .map(([name, value]) => (
          <div key={name}>
            <Text size="sm">{titleOf(name)}</Text>
            <JSONView value={value} label={titleOf(name)} />
          </div>
        ))}
    </>
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

function NamedAsset({ type, id }: { type: PickedType; id: string }) {
  const { data } = useQuery(referenceRead(useTenantID(), type, id));
  return (
    <Group gap="sm">
      <Text size="sm">
        <bdi>{data?.title ?? id}</bdi>
      </Text>
      <OpenLink type={type} id={id} />
    </Group>
  );
}
