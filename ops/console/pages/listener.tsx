import '@mantine/core/styles/Tabs.css';
import { Button, Paper, Skeleton, Stack, Tabs } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { refusalsRead } from '../client/listener-deliveries.ts';
import {
  connectionsRead,
  deleteListener,
  type ListenerIDs,
  listenerFormsRead,
  listenerRead,
  saveListener,
  setListening,
} from '../client/listeners.ts';
import { useMemberNames } from '../client/members.ts';
import type { Schemas } from '../client/types.ts';
import { Events } from '../listener/events.tsx';
import { useNewRefusals } from '../listener/new-refusals.ts';
import { Refused } from '../listener/refused.tsx';
import { Settings } from '../listener/settings.tsx';
import { ListenerState, reasonOf } from '../listener/state.tsx';
import { TestMode } from '../listener/test-mode.tsx';
import { UnfilledInputs } from '../listener/unfilled.tsx';
import { type ListenerView, parseListenerView } from '../listener/view.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Copy } from '../ui/copy.tsx';
import { countOf } from '../ui/count.ts';
import { May } from '../ui/may.tsx';
import { NameDialog } from '../ui/name-dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Ago } from '../ui/time.tsx';
import { WhoChanged } from '../ui/who-changed.tsx';

const from = '/shell/t/$tenantID/listeners/$listenerID';

/** A listener: what it has received, what it receives now, and its settings. */
export function ListenerPage() {
  const ids = useParams({ from });
  const view = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/listeners/$listenerID' });
  const read = useQuery(listenerRead(ids));
  const { data: listener, refetch } = read;
  const error = errorInPlaceOf(read);
  const hasAddress = listener !== undefined && listener.webhookPaths.length > 0;
  const { data: refusals = [] } = useQuery({ ...refusalsRead(ids), enabled: hasAddress });
  const added = useNewRefusals(ids.listenerID, refusals, view.tab === 'refused');
  const show = (next: ListenerView) => void navigate({ search: parseListenerView({ ...next }) });
  if (error)
    return (
      <>
        <PageTitle title="Listener" />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!listener) return <Skeleton h={320} />;
  return (
    <Stack>
      <Head ids={ids} listener={listener} refused={added} />
      <Tabs value={view.tab ?? 'events'} onChange={(tab) => show(parseListenerView({ tab }))} keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="events">Events</Tabs.Tab>
          {hasAddress && <Tabs.Tab value="refused">Refused{refusals.length > 0 && ` (${refusals.length})`}</Tabs.Tab>}
          <Tabs.Tab value="test">Live test</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="events">
          <Events ids={ids} view={view} onView={show} />
        </Tabs.Panel>
        <Tabs.Panel value="refused">
          <Refused ids={ids} datasourceID={listener.datasource.datasourceID} />
        </Tabs.Panel>
        <Tabs.Panel value="test">
          <TestMode ids={ids} listener={listener} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Settings ids={ids} listener={listener} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

interface HeadProps {
  ids: ListenerIDs;
  listener: Schemas['Listener'];
  /** How many deliveries were refused that nobody has looked at. */
  refused: number;
}

function Head({ ids, listener, refused }: HeadProps) {
  const { listenerTitle, status, listenerType, datasource, webhookPaths, creatorID, lastEventAt, eventCount } =
    listener;
  const queries = useQueryClient();
  const nameOf = useMemberNames(ids.tenantID);
  const { data: connections } = useQuery(connectionsRead(ids.tenantID));
  const { data: forms } = useQuery(listenerFormsRead(ids.tenantID));
  const act = useMutation({
    mutationFn: (verb: 'activate' | 'deactivate') => setListening(ids, verb),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['listener', ids] }),
        queries.invalidateQueries({ queryKey: ['listeners', ids.tenantID] }),
      ]),
  });
  const isActive = status === 'active';
  const reason = reasonOf(listener);
  return (
    <Paper withBorder p="md">
      <PageTitle
        title={listenerTitle}
        beside={
          <span role="status">
            <ListenerState
              connection={connections?.[ids.listenerID]}
              listener={{ ...listener, lastError: null, breaker: null }}
            />
          </span>
        }
      >
        <WhoChanged tenantID={ids.tenantID} assetID={ids.listenerID} />
        <More ids={ids} title={listenerTitle} />
        <May permission="listener.update" on={`listener:${ids.listenerID}`}>
          <Button
            variant={isActive ? 'default' : 'filled'}
            loading={act.isPending}
            onClick={() => act.mutate(isActive ? 'deactivate' : 'activate')}
          >
            {isActive ? 'Deactivate' : 'Activate'}
          </Button>
        </May>
      </PageTitle>
      {act.error && <Problem error={act.error} />}
      {reason && (
        <Notice tone={status === 'error' ? 'bad' : 'wait'} title={status === 'error' ? 'Stopped' : 'Retrying'}>
          {reason}
        </Notice>
      )}
      <UnfilledInputs actions={listener.actions} />
      {refused > 0 && (
        <Notice tone="wait" title={`${countOf(refused, 'delivery was', 'deliveries were')} refused`}>
          <Link className="link" from="/t/$tenantID/listeners/$listenerID" to="." search={{ tab: 'refused' }}>
            Look at the reasons
          </Link>
        </Notice>
      )}
      <dl className="facts">
        <div>
          <dt>Type</dt>
          <dd>{forms?.schemas[listenerType]?.label ?? '…'}</dd>
        </div>
        <div>
          <dt>Datasource</dt>
          <dd>
            <bdi>{datasource.datasourceTitle}</bdi>
          </dd>
        </div>
        <div>
          <dt>Owner</dt>
          <dd>
            <bdi>{nameOf(creatorID)}</bdi>
          </dd>
        </div>
        <div>
          <dt>Last event</dt>
          <dd>{lastEventAt ? <Ago at={lastEventAt} /> : 'none'}</dd>
        </div>
        <div>
          <dt>Events</dt>
          <dd>{eventCount.toLocaleString()}</dd>
        </div>
        {webhookPaths.map((path) => (
          <div key={path}>
            <dt>Address</dt>
            <dd>
              <code className="breaks">{location.origin + path}</code>{' '}
              <Copy value={location.origin + path} of="the address" />
            </dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}

/** Further actions on the listener. */
function More({ ids, title }: { ids: ListenerIDs; title: string }) {
  const { tenantID } = ids;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'rename' | 'delete'>();
  const close = () => setAsked(undefined);
  return (
    <>
      <RowMenu
        of={title}
        on={`listener:${ids.listenerID}`}
        actions={[
          { label: 'Rename', permission: 'listener.update', onClick: () => setAsked('rename') },
          { label: 'Delete', permission: 'listener.delete', onClick: () => setAsked('delete'), isDangerous: true },
        ]}
      />
      {asked === 'rename' && (
        <NameDialog
          title="Rename the listener"
          initial={title}
          verb="Rename"
          onName={async (listenerTitle) => {
            await saveListener(ids, { listenerTitle });
            await queries.invalidateQueries({ queryKey: ['listener', ids] });
          }}
          onClose={close}
        />
      )}
      {asked === 'delete' && (
        <Confirm
          title="Delete the listener"
          question={`“${title}” is deleted with its actions. Events that are stored already are not processed any more.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteListener(ids);
            await queries.invalidateQueries({ queryKey: ['listeners', tenantID] });
            await navigate({ to: '/t/$tenantID/listeners', params: { tenantID }, ignoreBlocker: true });
          }}
          onClose={close}
        />
      )}
    </>
  );
}
