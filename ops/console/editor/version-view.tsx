import '../graph/graph.css';
import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { versionRead } from '../client/reads.ts';
import type { Schemas } from '../client/types.ts';
import { restoreVersion } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { draftOf, type Faults } from './draft.ts';
import { Studio } from './studio.tsx';

interface Props {
  tenantID: string;
  workflow: Schemas['Workflow'];
  versionID: string;
  kinds: Kinds;
  /** The step to begin with. */
  step: string | undefined;
  /** Goes to the editor of the latest version. */
  onLeave: () => Promise<void>;
}

const none: Faults = new Map();
const noFaults: ReadonlyMap<string, string> = new Map();
const noMoves = { move: () => undefined, canUndo: false, canRedo: false };
const nothing = () => undefined;

/** An earlier version of a workflow in the editor, to look at and to go back to. */
export function VersionView({ tenantID, workflow, versionID, kinds, step, onLeave }: Props) {
  const ids = { tenantID, workflowID: workflow.id, versionID };
  const read = useQuery(versionRead(ids));
  const { data: version, refetch } = read;
  const error = errorInPlaceOf(read);
  const draft = useMemo(() => version && draftOf(version), [version]);
  const restore = useMutation({ mutationFn: () => restoreVersion(ids), onSuccess: onLeave });
  if (error)
    return (
      <>
        <PageTitle title={workflow.title} />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  if (!version || !draft) return <Skeleton h={420} />;
  const isPublished = versionID === workflow.publishedVersionID;
  return (
    <div className="studio-page">
      <PageTitle
        title={workflow.title}
        beside={
          <span className="status" data-tone="idle">
            Version {version.versionNumber} of {workflow.versionNumber}
            {isPublished && ', published'}, to look at
          </span>
        }
      >
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link
              {...props}
              to="/t/$tenantID/workflows/$workflowID"
              params={{ tenantID, workflowID: workflow.id }}
              search={{}}
            />
          )}
        >
          Edit the latest version
        </Button>
        <May permission="workflow.update" on={`workflow:${workflow.id}`}>
          <Button variant="default" loading={restore.isPending} onClick={() => restore.mutate()}>
            Restore as a draft
          </Button>
        </May>
      </PageTitle>
      <div className="said">{restore.error && <Problem error={restore.error} />}</div>
      <Studio
        key={versionID}
        tenantID={tenantID}
        draft={draft}
        kinds={kinds}
        faults={none}
        optionFaults={noFaults}
        moves={0}
        undo={noMoves}
        tests={undefined}
        plan={undefined}
        proposal={undefined}
        isDirty={false}
        onPlanAgain={nothing}
        onPlanClose={nothing}
        isReadOnly
        opened={step}
        onChange={nothing}
      />
    </div>
  );
}
