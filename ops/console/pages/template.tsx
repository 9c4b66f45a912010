import '../graph/graph.css';
import '../templates/templates.css';
import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Template } from '../client/template.ts';
import { templatesRead } from '../client/templates.ts';
import { kindsRead } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { Install } from '../templates/install.tsx';
import { LargePicture } from '../templates/large-picture.tsx';
import { PagePicture } from '../templates/page-picture.tsx';
import { TemplateSteps } from '../templates/step-list.tsx';
import { graphOf, pageIn, shownTitle } from '../templates/words.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** One template: what it does, step by step, and its installation. */
export function TemplatePage() {
  const { tenantID, name } = useParams({ from: '/shell/t/$tenantID/templates/$name' });
  const templates = useQuery(templatesRead);
  const kinds = useQuery(kindsRead(tenantID));
  const template = templates.data?.find((one) => one.name === name);
  const missing = templates.data && !template ? new Error(`There is no template “${name}”.`) : null;
  const error = templates.error ?? kinds.error ?? missing;
  const all = (
    <Link className="link" to="/t/$tenantID/templates" params={{ tenantID }}>
      All templates
    </Link>
  );
  return (
    <>
      <PageTitle title={template?.title ?? 'Template'}>{all}</PageTitle>
      {error && <Problem error={error} />}
      {!error && !(template && kinds.data) && <Skeleton h={420} />}
      {template && kinds.data && <Shown key={name} {...{ tenantID, template }} kinds={kinds.data} />}
    </>
  );
}

function Shown({ tenantID, template, kinds }: { tenantID: string; template: Template; kinds: Kinds }) {
  const graph = useMemo(() => graphOf(template), [template]);
  const page = useMemo(() => pageIn(template), [template]);
  const titles = new Map(graph.nodes.map(({ id, data }) => [id, shownTitle(data.title)]));
  return (
    <div className="template-page">
      <Text maw={720}>{template.description}</Text>
      <Install {...{ tenantID, template }} />
      {page && (
        <div className="panel template-frame of-page">
          <PagePicture config={page.config} types={page.types} />
        </div>
      )}
      <div className="panel template-frame">
        <LargePicture
          {...{ graph, kinds }}
          titleOf={(id) => titles.get(id) ?? id}
          label={`The graph of “${template.title}”, whose steps are listed below`}
        />
      </div>
      <section aria-label="Steps">
        <Text component="h2" fw={600} mb="xs">
          Steps
        </Text>
        <TemplateSteps {...{ template, graph, kinds }} />
      </section>
    </div>
  );
}
