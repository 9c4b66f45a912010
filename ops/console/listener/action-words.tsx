import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type PickedType, referenceRead } from '../client/references.ts';
import { OpenLink, useTenantID } from '../ui/asset-title.tsx';
import { JSONView } from '../ui/json.tsx';

type Config = Readonly<Record<string, unknown>>;

/** Fields of an action that name what it uses. */
const names: Readonly<Record<string, PickedType>> = {
  workflowID: 'workflow',
  dataQueryID: 'dataQuery',
  appPageID: 'appPage',
};

/** An action in words: what it starts by its title, code as code, and the rest of its settings. */
export function ActionWords({ type, config }: { type: string; config: Config }) {
  const { script, ...others } = config;
  const named = Object.entries(others).filter(([name, id]) => names[name] !== undefined && typeof id === 'string');
  const rest = Object.fromEntries(
    Object.entries(others).filter(([name, value]) => !names[name] && value !== undefined),
  );
  const label = `Settings of ${type}`;
  return (
    <>
      {named.map(([name, id]) => (
        <NamedAsset key={name} type={names[name] ?? 'workflow'} id={String(id)} />
      ))}
      {typeof script === 'string' && <JSONView value={script} label={label} />}
      {typeof script !== 'string' && (Object.keys(rest).length > 0 || named.length === 0) && (
        <JSONView value={rest} label={label} />
      )}
    </>
  );
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
