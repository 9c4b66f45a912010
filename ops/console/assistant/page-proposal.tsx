import '../templates/templates.css';
import { Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { PageDocument } from '../builder/document.ts';
import { createPlanned, createQueries } from '../builder/made/create.ts';
import { pageDifferences } from '../builder/made/proposed-differences.ts';
import {
  type PageProposal as Proposed,
  pageProposalIn,
  planOfProposal,
  withProposal,
} from '../builder/made/proposed-page.ts';
import { useMay } from '../client/may.ts';
import { newID } from '../client/new-id.ts';
import { withoutTurning } from '../code/turning.ts';
import { ChangeList } from '../editor/change-list.tsx';
import { type OpenPageDraft, useOpenPage } from '../open-page/open-page.ts';
import { PagePicture } from '../templates/page-picture.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { ProposalActions, ProposalCard, ProposedCode } from './proposal-card.tsx';
import { useStored } from './stored.ts';

interface Props {
  id: string;
  tenantID: string;
  output: Readonly<Record<string, unknown>>;
}

/** A page that the model proposes, or a change of one: its parts and its SQL, before anything of it is there. */
export function PageProposal({ id, tenantID, output }: Props) {
  const proposal = useMemo(() => pageProposalIn(output), [output]);
  const open = useOpenPage()?.page as OpenPageDraft<PageDocument> | undefined;
  if (!proposal) return <Notice tone="bad">The proposal is too large to be shown. Ask for a smaller one.</Notice>;
  const own = { id, tenantID, proposal };
  const isNew = proposal.appPageID === null;
  const title = isNew ? `New page: ${proposal.title ?? 'without a title'}` : 'Proposed change of a page';
  return (
    <ProposalCard id={id} label="Proposed page" title={title} summary={proposal.summary}>
      {(onDiscard) =>
        proposal.appPageID === null ? (
          <NewOne {...own} onDiscard={onDiscard} />
        ) : open?.document.id === proposal.appPageID ? (
          <OfOpen {...own} open={open} onDiscard={onDiscard} />
        ) : (
          <Text size="sm">
            To compare it and to apply it, open <ToPage tenantID={tenantID} appPageID={proposal.appPageID} />.
          </Text>
        )
      }
    </ProposalCard>
  );
}

function ToPage(params: { tenantID: string; appPageID: string }) {
  return (
    <Link className="link" to="/t/$tenantID/pages/$appPageID/edit" params={params}>
      the page in its builder
    </Link>
  );
}

interface Own {
  /** The call that proposes it. */
  id: string;
  tenantID: string;
  proposal: Proposed;
  onDiscard: () => void;
}

function NewOne({ id, tenantID, proposal, onDiscard }: Own) {
  const may = useMay();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const plan = useMemo(() => planOfProposal(proposal, newID), [proposal]);
  const types = useMemo(() => new Map(plan.widgets.map(({ key, type }) => [key, type])), [plan]);
  // One proposal makes one page, with the keys of the first try.
  const [created, setCreated] = useStored(`gantry.created.${id}`, () => '', sessionStorage);
  const create = useMutation({
    mutationFn: async () => {
      const appPageID = await createPlanned(tenantID, plan);
      setCreated(appPageID);
      await queries.invalidateQueries({ queryKey: ['app-pages', tenantID] });
      await navigate({ to: '/t/$tenantID/pages/$appPageID/edit', params: { tenantID, appPageID } });
    },
  });
  if (created !== '')
    return (
      <Text size="sm" role="status">
        It was created as a draft: <ToPage tenantID={tenantID} appPageID={created} />.
      </Text>
    );
  return (
    <>
      <PagePicture config={plan.page.config} types={types} />
      <Parts proposal={proposal} />
      {create.error && <Problem error={create.error} />}
      <ProposalActions
        action="Create it as a draft"
        disabled={!may('appPage.create') || !may('bundle.execute')}
        loading={create.isPending}
        onTake={() => create.mutate()}
        onDiscard={onDiscard}
      />
    </>
  );
}

/** Its parts: the widgets in words, and the text of each new query. */
function Parts({ proposal: { widgets, sources } }: { proposal: Proposed }) {
  return (
    <>
      <ul className="lines">
        {widgets.map(({ name, type, title }) => (
          <li key={name}>
            <bdi>{withoutTurning(title)}</bdi> <span className="note">{type}</span>
          </li>
        ))}
      </ul>
      {sources.flatMap(({ alias, query }) =>
        query ? (
          <details key={alias}>
            <summary>
              Query <bdi>{withoutTurning(query.title)}</bdi>
            </summary>
            <div className="marked-code">
              <ProposedCode text={String(query.dataQueryOptions.query ?? '')} />
            </div>
          </details>
        ) : (
          []
        ),
      )}
    </>
  );
}

function OfOpen({ id, tenantID, proposal, open, onDiscard }: Own & { open: OpenPageDraft<PageDocument> }) {
  const { document, mayChange, onTake } = open;
  const [stored, setStored] = useStored(`gantry.queries.${id}`, () => '', sessionStorage);
  const made = useMemo(() => idsIn(stored), [stored]);
  const next = useMemo(() => withProposal(document, proposal, made), [document, proposal, made]);
  const changes = useMemo(() => pageDifferences(document, next), [document, next]);
  const take = useMutation({
    mutationFn: async () => {
      // Applied again after “Undo”, it has the queries of before.
      const ids = made.size > 0 ? made : await createQueries(tenantID, proposal.sources);
      setStored(JSON.stringify([...ids]));
      onTake((now) => withProposal(now, proposal, ids));
    },
  });
  if (changes.length === 0)
    return (
      <Text size="sm" role="status">
        The page has all of it. It is not saved by that; “Undo” in the builder takes it back.
      </Text>
    );
  return (
    <>
      <ChangeList changes={changes} />
      <Parts proposal={{ ...proposal, widgets: [] }} />
      {take.error && <Problem error={take.error} />}
      <ProposalActions
        action="Apply to the page"
        disabled={!mayChange}
        loading={take.isPending}
        onTake={() => take.mutate()}
        onDiscard={onDiscard}
      />
    </>
  );
}

/** The ids of the queries that were created for a proposal, by aliases. The page may have had others under the same ones before. */
function idsIn(text: string): ReadonlyMap<string, string> {
  return new Map(text === '' ? [] : (JSON.parse(text) as [string, string][]));
}
