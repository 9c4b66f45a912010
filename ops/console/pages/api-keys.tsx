import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { deleteKey, keysRead, rolesRead } from '../client/people.ts';
import type { Schemas } from '../client/types.ts';
import { AddKey } from '../people/add-key.tsx';
import { PeopleList } from '../people/list.tsx';
import { fullWords } from '../people/permission-words.ts';
import { type PeopleView, parsePeopleView } from '../people/view.ts';
import { Confirm } from '../ui/confirm.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago, Moment } from '../ui/time.tsx';
import { WhoChanged } from '../ui/who-changed.tsx';

type Key = Schemas['ApiKey'];
const from = '/shell/t/$tenantID/api-keys';

/** Keys by which programs use the API: what they may do, until when, and when they were used. */
export function ApiKeysPage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const { shown: _, ...filter } = view;
  const navigate = useNavigate({ from: '/t/$tenantID/api-keys' });
  const queries = useQueryClient();
  const may = useMay();
  const { data, error, refetch } = useQuery(keysRead(tenantID, filter));
  const { data: roles = [] } = useQuery({ ...rolesRead(tenantID), enabled: may('role.list') });
  const [isAdding, adding] = useDisclosure(false);
  const [doomed, setDoomed] = useState<Key>();
  const show = (next: PeopleView) => void navigate({ search: parsePeopleView({ ...next }) });
  const refresh = () => queries.invalidateQueries({ queryKey: ['api-keys', tenantID] });
  const scopesOf = ({ roleIDs, apiKeyPermissions }: Key) => [
    ...roleIDs.map((id) => roles.find(({ roleID }) => roleID === id)?.roleName ?? `role ${id.slice(-8)}`),
    ...apiKeyPermissions.map(fullWords),
  ];
  const columns: Column<Key>[] = [
    {
      head: 'Name',
      cell: ({ apiKeyName, apiKeyPrefix, apiKeyExpiry }) => (
        <>
          <div className="clip">
            <bdi>{apiKeyName}</bdi> <code>{apiKeyPrefix}…</code>
          </div>
          <div className="note narrow">
            {apiKeyExpiry ? (
              <>
                until <Moment at={apiKeyExpiry} />
              </>
            ) : (
              'without an end'
            )}
          </div>
        </>
      ),
    },
    { head: 'State', cell: (row) => stateOf(row) },
    { head: 'Scopes', cell: (row) => <bdi>{scopesOf(row).join(', ') || 'none'}</bdi>, isWide: true },
    {
      head: 'Expires',
      cell: ({ apiKeyExpiry }) => (apiKeyExpiry ? <Moment at={apiKeyExpiry} /> : 'never'),
      isWide: true,
    },
    { head: 'Used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago at={lastUsedAt} /> : 'never'), isWide: true },
    { head: 'History', cell: ({ id }) => <WhoChanged tenantID={tenantID} assetID={id} />, isWide: true },
    {
      head: 'Actions',
      isPinned: true,
      cell: (row) => (
        <RowMenu
          of={row.apiKeyName}
          on={`apikey:${row.id}`}
          actions={[
            {
              label: row.isDisabled ? 'Delete for good' : 'Revoke',
              permission: 'apikey.delete',
              onClick: () => setDoomed(row),
              isDangerous: true,
            },
          ]}
        />
      ),
    },
  ];
  return (
    <>
      <PageTitle title="API keys">
        <May permission="apikey.create" on="apikey:*">
          <Button onClick={adding.open}>New API key</Button>
        </May>
      </PageTitle>
      <PeopleList
        title="API keys"
        view={view}
        onView={show}
        rows={data?.apiKeys}
        next={data?.nextCursor}
        error={error}
        onRetry={() => void refetch()}
        idOf={({ id }) => id}
        columns={columns}
        empty="No API key yet. Programs use the API with a key, which may do what its roles permit and can be revoked."
        first={
          <May permission="apikey.create" on="apikey:*">
            <Button onClick={adding.open}>Create the first key</Button>
          </May>
        }
        panel={undefined}
      />
      {isAdding && <AddKey tenantID={tenantID} onCreated={refresh} onClose={adding.close} />}
      {doomed && (
        <Confirm
          title={doomed.isDisabled ? 'Delete the key' : 'Revoke the key'}
          question={`Requests with “${doomed.apiKeyName}” are refused${doomed.isDisabled ? ', and it leaves the list' : ''}.`}
          verb={doomed.isDisabled ? 'Delete for good' : 'Revoke'}
          onConfirm={async () => {
            await deleteKey({ tenantID, apiKeyID: doomed.id }, { isForGood: doomed.isDisabled });
            await refresh();
          }}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </>
  );
}

function stateOf({ isDisabled, apiKeyExpiry }: Key): string {
  if (isDisabled) return 'Revoked';
  return apiKeyExpiry && Date.parse(apiKeyExpiry) < Date.now() ? 'Expired' : 'Valid';
}
