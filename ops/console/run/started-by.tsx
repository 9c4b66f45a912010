import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { cronJobRead } from '../client/cron.ts';
import { listenerRead } from '../client/listeners.ts';
import { useMay } from '../client/may.ts';
import { useAuthorNames } from '../client/members.ts';
import { body, rest } from '../client/rest.ts';
import type { Run } from '../client/types.ts';
import { Moment } from '../ui/time.tsx';
import { nameOfStarter, originOf } from './origin.ts';

interface Props {
  tenantID: string;
  run: Run;
}

/** Who or what has started a run, with the way there. */
export function StartedBy({ tenantID, run }: Props) {
  const { startedBy, trigger, parentInstanceID, parentNodeID } = run;
  const authorOf = useAuthorNames(tenantID);
  if (parentInstanceID)
    return (
      <>
        <RunLink
          tenantID={tenantID}
          instanceID={parentInstanceID}
          name="another run"
          {...(parentNodeID && { step: parentNodeID })}
        />
        {parentNodeID && <span className="note"> at its step {parentNodeID}</span>}
      </>
    );
  if (trigger?.type === 'failedRun')
    return (
      <>
        the failure of <RunLink tenantID={tenantID} instanceID={trigger.id} name="another run" />
      </>
    );
  if (trigger?.type === 'cronJob') return <ByCronJob tenantID={tenantID} trigger={trigger} />;
  if (trigger?.type === 'listener') return <ByListener tenantID={tenantID} trigger={trigger} />;
  if (!startedBy) return <>{originOf(run)}</>;
  return (
    <>
      <bdi>{nameOfStarter(startedBy, authorOf)}</bdi>
      {trigger && <OnPage tenantID={tenantID} appPageID={trigger.id} />}
      {run.isTest && <span className="note"> as a test</span>}
    </>
  );
}

function OnPage({ tenantID, appPageID }: { tenantID: string; appPageID: string }) {
  const may = useMay(`appPage:${appPageID}`);
  const { data: title } = useQuery({
    queryKey: ['app-page-title', tenantID, appPageID],
    queryFn: async () => {
      const params = { path: { tenantID, appPageID } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/app-pages/{appPageID}', { params }))).appPage
        .appPageTitle;
    },
    ...{ enabled: may('appPage.read'), retry: false, staleTime: 60_000 },
  });
  return (
    <span className="note">
      {' on the app page '}
      <Link className="link" to="/t/$tenantID/pages/$appPageID" params={{ tenantID, appPageID }}>
        <bdi>{title ?? appPageID.slice(-8)}</bdi>
      </Link>
    </span>
  );
}

type Trigger = NonNullable<Run['trigger']>;

function ByCronJob({ tenantID, trigger: { id, scheduledAt } }: { tenantID: string; trigger: Trigger }) {
  const may = useMay(`cronjob:${id}`);
  const { data } = useQuery({
    ...cronJobRead({ tenantID, cronJobID: id }),
    ...{ enabled: may('cronjob.read'), retry: false, refetchInterval: false },
  });
  return (
    <>
      {'the cron job '}
      <Link className="link" to="/t/$tenantID/cron/$cronJobID" params={{ tenantID, cronJobID: id }}>
        <bdi>{data?.cronJobTitle ?? id.slice(-8)}</bdi>
      </Link>
      {scheduledAt && (
        <span className="note">
          {' for '}
          <Moment at={scheduledAt} />
        </span>
      )}
    </>
  );
}

function ByListener({ tenantID, trigger: { id, eventID } }: { tenantID: string; trigger: Trigger }) {
  const may = useMay(`listener:${id}`);
  const { data } = useQuery({
    ...listenerRead({ tenantID, listenerID: id }),
    ...{ enabled: may('listener.read'), retry: false, refetchInterval: false },
  });
  const title = data?.listenerTitle ?? id.slice(-8);
  return (
    <>
      {'the listener '}
      <Link
        className="link"
        to="/t/$tenantID/listeners/$listenerID"
        params={{ tenantID, listenerID: id }}
        search={eventID === undefined ? {} : { event: eventID }}
      >
        <bdi>{title}</bdi>
      </Link>
      {eventID !== undefined && <span className="note"> by this event</span>}
    </>
  );
}

export function RunLink({
  tenantID,
  instanceID,
  name,
  step,
}: {
  tenantID: string;
  instanceID: string;
  name: string;
  step?: string;
}) {
  return (
    <Link
      className="link"
      to="/t/$tenantID/runs/$instanceID"
      params={{ tenantID, instanceID }}
      search={step === undefined ? {} : { step }}
    >
      {name}
    </Link>
  );
}
