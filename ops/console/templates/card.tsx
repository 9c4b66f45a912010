import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Template } from '../client/template.ts';
import type { Kinds } from '../graph/kinds.ts';
import { PagePicture } from './page-picture.tsx';
import { SmallPicture } from './small-picture.tsx';
import { graphOf, marksOf, pageIn } from './words.ts';

interface Props {
  tenantID: string;
  template: Template;
  kinds: Kinds;
  /** The level of its heading. */
  level: 'h2' | 'h3';
}

/** A template among others: the picture of its page or its steps, and what it is for. The whole card leads to it. */
export function TemplateCard({ tenantID, template, kinds, level: Heading }: Props) {
  const { name, title, description, group } = template;
  const graph = useMemo(() => graphOf(template), [template]);
  const page = useMemo(() => pageIn(template), [template]);
  return (
    <li>
      <article className="panel template-card">
        {page ? <PagePicture config={page.config} types={page.types} /> : <SmallPicture graph={graph} kinds={kinds} />}
        <span className="note">{group}</span>
        <Heading>
          <Link className="link" to="/t/$tenantID/templates/$name" params={{ tenantID, name }}>
            {title}
          </Link>
        </Heading>
        <Text size="sm">{description}</Text>
        <span className="note needs">{marksOf(template).join(' · ')}</span>
      </article>
    </li>
  );
}
