import '@mantine/core/styles/Radio.css';
import { Button, Checkbox, Radio, Stack, Text } from '@mantine/core';
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { PlanTable } from '../bundle/plan-table.tsx';
import { typeWords } from '../bundle/words.ts';
import type { Plan } from '../client/bundles.ts';
import { noteInstalled } from '../client/installed.ts';
import { type Permission, useMay } from '../client/may.ts';
import { isNewRead } from '../client/overview.ts';
import { referenceRead } from '../client/references.ts';
import { setSampleInput } from '../client/sample-input.ts';
import { mainTitle, type Template, tablesIn, titlesIn } from '../client/template.ts';
import { type Choices, installTemplate, type Prepared, presenceRead, updateInstalled } from '../client/templates.ts';
import { rememberTestInput } from '../testing/test-settings.ts';
import { countOf } from '../ui/count.ts';
import { Form } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Need } from './needs.tsx';

interface Props {
  tenantID: string;
  template: Template;
}

/** Says what an installation adds, asks for what it needs, and opens the workflow then. */
export function Install({ tenantID, template }: Props) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const may = useMay();
  const [given, setGiven] = useState<Given>(() => newSecrets(template));
  const [isScheduled, setScheduled] = useState(false);
  const [wantsUpdate, setUpdate] = useState(false);
  const { datasources, isComplete } = useDatasources(tenantID, template, given);
  const mayInstall = permissionsFor(template).every(may);
  const presence = useQuery({ ...presenceRead(tenantID, template, datasources), enabled: mayInstall });
  const install = useMutation({
    mutationFn: async () => {
      if (!presence.data) return undefined;
      const { next, update } = presence.data;
      if (wantsUpdate && update) return updateInstalled(tenantID, template, update);
      const choices = { datasources, secrets: secretsIn(template, given), isScheduled };
      const { installed, ...opened } = await installTemplate(tenantID, next.template, choices);
      noteInstalled(opened.workflowID, installed);
      return opened;
    },
    onSuccess: async (opened) => {
      if (opened === undefined) return;
      const { workflowID, appPageID } = opened;
      const args = template.examples[0]?.args ?? {};
      rememberTestInput(workflowID, args);
      setSampleInput(workflowID, args);
      // Home must not say that there is none.
      queries.setQueryData(isNewRead(tenantID).queryKey, false);
      if (appPageID) await navigate({ to: '/t/$tenantID/pages/$appPageID', params: { tenantID, appPageID } });
      else await navigate({ to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID }, search: {} });
      await queries.invalidateQueries();
    },
  });
  if (!mayInstall)
    return (
      <Panel>
        <Notice tone="idle">
          Your roles do not let you create all that this template has. An administrator of the tenant can install it.
        </Notice>
      </Panel>
    );
  const { next, update } = presence.data ?? {};
  // The installed one may have been deleted since it was chosen.
  const isUpdate = wantsUpdate && update !== undefined;
  const title = next && mainTitle(next.template);
  const isSame = update?.plan.items.every(({ action }) => action === 'unchanged') ?? false;
  return (
    <Panel>
      {presence.error && <Problem error={presence.error} onRetry={() => void presence.refetch()} />}
      <Form
        save={install}
        button={
          <Button
            type="submit"
            fullWidth
            loading={install.isPending}
            disabled={!presence.data || (isUpdate ? isSame : !isComplete)}
          >
            {isUpdate ? 'Bring it up to the template' : title ? `Install “${title}”` : 'Install'}
          </Button>
        }
      >
        {update && (
          <Radio.Group
            label="It is here already"
            value={isUpdate ? 'update' : 'another'}
            onChange={(value) => setUpdate(value === 'update')}
          >
            <Stack gap={6} mt={6}>
              <Radio value="another" label={`Install another one, with tables of its own: “${title}”`} />
              <Radio value="update" label="Bring the one that is here up to the template" />
            </Stack>
          </Radio.Group>
        )}
        {isUpdate ? (
          <Update plan={update.plan} isSame={isSame} />
        ) : (
          <NewOne {...{ tenantID, template, given, isScheduled, next }} onGiven={setGiven} onScheduled={setScheduled} />
        )}
      </Form>
    </Panel>
  );
}

type Given = Readonly<Record<string, string | undefined>>;

interface NewOneProps extends Props {
  /** Ids of datasources and secrets, by the names of needs. */
  given: Given;
  onGiven: (given: Given) => void;
  isScheduled: boolean;
  onScheduled: (isScheduled: boolean) => void;
  next: Prepared | undefined;
}

/** Asks for what the template needs, and says what it adds. */
function NewOne({ tenantID, template, given, onGiven, isScheduled, onScheduled, next }: NewOneProps) {
  return (
    <>
      {template.needs.map((need) => (
        <Need
          key={need.kind === 'ai' ? 'ai' : need.name}
          {...{ tenantID, need }}
          value={need.kind === 'ai' ? undefined : given[need.name]}
          onChange={(value) => need.kind !== 'ai' && onGiven({ ...given, [need.name]: value })}
        />
      ))}
      {template.items.some(({ type }) => type === 'cronJob') && (
        <Checkbox
          label="Start by its schedule from now on"
          description="Otherwise its cron job is disabled, until you enable it on its page"
          checked={isScheduled}
          onChange={({ currentTarget }) => onScheduled(currentTarget.checked)}
        />
      )}
      {next && <Adds tenantID={tenantID} template={next.template} />}
    </>
  );
}

function Update({ plan, isSame }: { plan: Plan; isSame: boolean }) {
  return (
    <>
      {isSame && <Notice tone="ok">It is as the template has it.</Notice>}
      <PlanTable plan={withoutTables(plan)} />
    </>
  );
}

/** The tables came with the installation, so that nothing has to be said of them. */
function withoutTables(plan: Plan): Plan {
  const items = plan.items.map((item) => ({
    ...item,
    tables: [],
    warnings: item.warnings.filter((warning) => !item.tables.some((table) => warning.includes(table))),
  }));
  return { ...plan, items };
}

function Panel({ children }: { children: ReactNode }) {
  return (
    <section className="panel install" aria-label="Install">
      {children}
    </section>
  );
}

/** The assets and tables that come into the tenant, so that a person knows before. */
function Adds({ tenantID, template }: Props) {
  const byType = Map.groupBy(titlesIn(template), ({ type }) => type);
  const tables = tablesIn(template);
  return (
    <details>
      <summary>
        Adds{' '}
        {[...byType]
          .map(([type, all]) =>
            countOf(all.length, typeWords[type].one.toLowerCase(), typeWords[type].many.toLowerCase()),
          )
          .join(', ')}
        {tables.length > 0 && ` and ${countOf(tables.length, 'table')}`}
      </summary>
      <ul className="template-adds">
        {[...byType].flatMap(([type, all]) =>
          all.map(({ title }) => (
            <li key={`${type} ${title}`}>
              {typeWords[type].one}: {title}
            </li>
          )),
        )}
        {tables.map((table) => (
          <li key={table}>
            Table <code>{table}</code>, in the database of this tenant
          </li>
        ))}
      </ul>
      <Text size="xs" c="dimmed">
        All but the tables can be taken back at once under{' '}
        <Link className="link" to="/t/$tenantID/settings/bundles" params={{ tenantID }}>
          Settings, Bundles
        </Link>
        .
      </Text>
    </details>
  );
}

/** The chosen datasources with their types. */
function useDatasources(tenantID: string, { needs }: Template, given: Given) {
  const wanted = needs.filter((need) => need.kind === 'datasource');
  const chosen = wanted.flatMap(({ name }) => (given[name] === undefined ? [] : [{ name, id: given[name] }]));
  const reads = useQueries({ queries: chosen.map(({ id }) => referenceRead(tenantID, 'datasource', id)) });
  const known = chosen.flatMap(({ name, id }, at) => {
    const datasourceType = reads[at]?.data?.detail;
    return datasourceType === undefined ? [] : [[name, { id, datasourceType }] as const];
  });
  return {
    datasources: Object.fromEntries(known) as Choices['datasources'],
    isComplete: known.length === wanted.length,
  };
}

function newSecrets({ needs }: Template): Record<string, string> {
  const secret = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24)))).replace(/\W/g, '');
  return Object.fromEntries(needs.flatMap((need) => (need.kind === 'secret' ? [[need.name, secret()]] : [])));
}

function secretsIn({ needs }: Template, given: Given): Record<string, string> {
  return Object.fromEntries(
    needs.flatMap((need) => (need.kind === 'secret' ? [[need.name, given[need.name] ?? '']] : [])),
  );
}

const creates = {
  datasource: 'datasource.create',
  dataQuery: 'dataquery.create',
  workflow: 'workflow.create',
  cronJob: 'cronjob.create',
  listener: 'listener.create',
  widget: 'widget.create',
  appPage: 'appPage.create',
  file: 'datasource.create',
} as const;

function permissionsFor({ items, setup, variables }: Template): Permission[] {
  return [
    ...new Set<Permission>([
      ...(['bundle.preview', 'bundle.execute'] as const),
      ...(setup.length > 0 ? (['database.execute'] as const) : []),
      ...(variables.length > 0 ? (['variable.create'] as const) : []),
      ...items.map(({ type }) => creates[type]),
    ]),
  ];
}
