import { Button, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { OWN } from '../client/own-database.ts';
import { leaveQuery, type ProposedQuery, useOpenPage } from '../open-page/open-page.ts';
import { Run } from '../query/run.tsx';
import { useDraftRun } from '../query/use-draft-run.ts';
import { Copy } from '../ui/copy.tsx';
import { isObject } from '../ui/is-object.ts';
import { JSONView } from '../ui/json.tsx';
import { Notice } from '../ui/notice.tsx';
import { ProposalActions, ProposalCard, ProposedCode } from './proposal-card.tsx';

interface Props {
  id: string;
  tenantID: string;
  output: Readonly<Record<string, unknown>>;
  onAsk: (question: string) => void;
}

/** A query that the model proposes: its text, a run with its rows, and the way into the form. */
export function QueryProposal({ id, tenantID, output, onAsk }: Props) {
  const query = queryIn(output);
  if (!query) return <Notice tone="bad">The proposal cannot be read. Ask for it again.</Notice>;
  return (
    <ProposalCard id={id} label="Proposed query" title={query.title} summary={output.summary}>
      {(onDiscard) => <Proposed tenantID={tenantID} query={query} onAsk={onAsk} onDiscard={onDiscard} />}
    </ProposalCard>
  );
}

function queryIn({ datasourceID, title, dataQueryOptions }: Props['output']): ProposedQuery | undefined {
  if (typeof title !== 'string' || !isObject(dataQueryOptions)) return undefined;
  return { datasourceID: typeof datasourceID === 'string' ? datasourceID : null, title, dataQueryOptions };
}

interface ProposedProps {
  tenantID: string;
  query: ProposedQuery;
  onAsk: (question: string) => void;
  onDiscard: () => void;
}

function Proposed({ tenantID, query, onAsk, onDiscard }: ProposedProps) {
  const { datasourceID, dataQueryOptions } = query;
  const { query: text, inputDefinitions, ...others } = dataQueryOptions;
  const form = useOpenPage()?.query;
  const navigate = useNavigate();
  const [isTaken, setTaken] = useState(false);
  const [failure, setFailure] = useState<string>();
  const draft = useDraftRun({ tenantID, type: OWN, ...(datasourceID && { datasourceID }) }, dataQueryOptions);
  const run = async (args: object) => {
    setFailure(undefined);
    try {
      // Without a right to test, there is no button to run it.
      return (await draft?.run(args)) as Awaited<ReturnType<NonNullable<typeof draft>['run']>>;
    } catch (error) {
      setFailure((error as Error).message);
      throw error;
    }
  };
  const use = () => {
    setTaken(true);
    if (form?.datasourceID === datasourceID) return form.onTake(query);
    leaveQuery(query);
    void navigate({
      to: '/t/$tenantID/queries/new',
      params: { tenantID },
      search: datasourceID ? { datasourceID } : {},
    });
  };
  return (
    <>
      {typeof text === 'string' && (
        <div className="marked-code">
          <ProposedCode text={text} />
          <Copy value={text} of="the query" />
        </div>
      )}
      {Object.keys(others).length > 0 && <JSONView value={others} label="Other settings of the query" />}
      <Run
        definitions={inputDefinitions}
        note={draft ? undefined : 'You may not run a query that is not saved.'}
        run={draft ? run : undefined}
      />
      {failure !== undefined && (
        <div>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => onAsk(`The proposed query fails. Propose it again, corrected:\n${failure}`)}
          >
            Have it corrected
          </Button>
        </div>
      )}
      {isTaken && (
        <Text size="sm" role="status">
          It is in the form, and not saved.
        </Text>
      )}
      <ProposalActions action="Use it" onTake={use} onDiscard={onDiscard} />
    </>
  );
}
