/** The drawing of a map: cytoscape in the colours of the page. */
import cytoscape, { type Core, type ElementDefinition, type StylesheetJson } from 'cytoscape';
import { levelOf } from '../../parts/level.ts';
import { colourOf } from '../../state/theme.ts';
import { labelOf, widthOf, type MapGraph } from './fold.ts';
import { placesOf, type Place } from './places.ts';

export interface Drawing {
  /** Shows a graph: existing nodes keep their places, only new ones are placed. */
  show(graph: MapGraph): void;
  select(id: string): void;
  recolour(): void;
  fit(): void;
  destroy(): void;
}

export function drawMap(host: HTMLElement, onChoose: (id: string) => void): Drawing {
  const cy = cytoscape({
    container: host,
    // While the map is moved, a picture of it is shown, so that the motion is smooth even with thousands of edges.
    textureOnViewport: true,
    minZoom: 0.05,
    maxZoom: 3,
    style: styleOf(),
  });
  let places: ReadonlyMap<string, Place> = new Map();
  cy.on('tap', ({ target }) => {
    // The box of a namespace is background: it has nothing to show.
    const isBackground = target === cy || target.data('kind') === 'group';
    onChoose(isBackground ? '' : String(target.id()));
  });
  let first = true;
  return {
    show: (graph) => {
      places = placesOf(places, graph.nodes, graph.edges);
      update(cy, elementsOf(graph, places));
      if (first) cy.fit(undefined, 30);
      first = false;
    },
    select: (id) => {
      cy.elements().unselect();
      if (id !== '') cy.getElementById(id).select();
    },
    recolour: () => cy.style(styleOf()),
    fit: () => cy.fit(undefined, 30),
    destroy: () => cy.destroy(),
  };
}

function update(cy: Core, elements: readonly ElementDefinition[]): void {
  const ids = new Set(elements.map(({ data }) => String(data.id)));
  cy.batch(() => {
    // Obsolete elements go before new ones are added, because removing a node also removes its edges.
    cy.elements()
      .filter((element) => !ids.has(element.id()))
      .remove();
    for (const element of elements) {
      const known = cy.getElementById(String(element.data.id));
      if (known.empty()) cy.add(element);
      else known.data(element.data);
    }
  });
}

function elementsOf({ nodes, edges }: MapGraph, places: ReadonlyMap<string, Place>): ElementDefinition[] {
  const groups = new Set(
    nodes.filter(({ folded, namespace }) => folded === 0 && namespace !== '').map((n) => n.namespace),
  );
  return [
    ...[...groups].map((namespace) => ({
      group: 'nodes' as const,
      data: { id: `group:${namespace}`, label: namespace, kind: 'group' },
      selectable: false,
    })),
    ...nodes.map(({ id, kind, namespace, name, folded }) => ({
      group: 'nodes' as const,
      data: {
        id,
        kind: folded > 0 ? 'folded' : kind,
        label: folded > 0 ? `${name} (${folded})` : name || 'unknown',
        ...(folded === 0 && namespace !== '' ? { parent: `group:${namespace}` } : {}),
      },
      position: { x: places.get(id)!.x, y: places.get(id)!.y },
    })),
    ...edges.map((edge) => {
      const level = levelOf(edge.errorShare);
      return {
        group: 'edges' as const,
        data: {
          id: edge.id,
          source: edge.source,
          target: edge.target,
          width: widthOf(edge),
          level,
          flows: edge.sources.includes('requests') ? 'no' : 'yes',
          label: labelOf(edge, edges.length),
        },
      };
    }),
  ];
}

function styleOf(): StylesheetJson {
  const [ink, quiet, line, bad, warn, accent] = ['ink', 'quiet', 'line', 'bad', 'warn', 'accent'].map(
    colourOf,
  ) as string[];
  const raised = colourOf('raised');
  return [
    {
      selector: 'node',
      style: {
        ...{ label: 'data(label)', color: ink!, 'font-size': 12, 'min-zoomed-font-size': 7, width: 22, height: 22 },
        ...{ 'background-color': raised, 'border-width': 2, 'border-color': accent!, 'text-valign': 'bottom' },
        ...{ 'text-margin-y': 3, 'text-max-width': '130px', 'text-wrap': 'ellipsis' },
        // Edges pass below names, so that names stay readable.
        ...{ 'text-background-color': raised, 'text-background-opacity': 0.85, 'text-background-padding': '1px' },
      },
    },
    {
      selector: 'node[kind="group"]',
      style: {
        ...{ shape: 'round-rectangle', 'background-opacity': 0.5, 'background-color': raised, 'border-color': line! },
        ...{ 'border-width': 1, 'text-valign': 'top', color: quiet!, 'font-size': 14, padding: '22px' },
      },
    },
    { selector: 'node[kind="folded"]', style: { shape: 'round-rectangle', width: 54, height: 34 } },
    { selector: 'node[kind="external"]', style: { shape: 'diamond', 'border-color': quiet! } },
    { selector: 'node[kind="service"]', style: { shape: 'hexagon' } },
    { selector: 'node[kind="unknown"]', style: { shape: 'diamond', 'border-style': 'dashed', 'border-color': quiet! } },
    {
      selector: 'edge',
      style: {
        ...{ width: 'data(width)', 'line-color': quiet!, 'line-opacity': 0.75, 'curve-style': 'bezier' },
        ...{ 'target-arrow-shape': 'triangle', 'target-arrow-color': quiet!, 'arrow-scale': 0.8 },
        ...{ label: 'data(label)', color: quiet!, 'font-size': 11, 'min-zoomed-font-size': 7 },
        ...{ 'text-background-color': raised, 'text-background-opacity': 0.9, 'text-background-padding': '2px' },
      },
    },
    { selector: 'edge[flows="yes"]', style: { 'line-style': 'dotted' } },
    { selector: 'edge[level="warn"]', style: { 'line-color': warn!, 'target-arrow-color': warn! } },
    {
      selector: 'edge[level="bad"]',
      style: { 'line-color': bad!, 'target-arrow-color': bad!, 'line-style': 'dashed', 'line-opacity': 1, color: bad! },
    },
    {
      selector: ':selected',
      style: { 'border-width': 4, 'border-color': accent!, 'line-opacity': 1, 'line-color': accent! },
    },
  ];
}
