import { expectGolden } from '../testing/golden.ts';
import { yamlStream } from '../testing/yaml.ts';
import { controllerDefaults, renderController } from './index.ts';

describe('renderController', () => {
  test('renders the operator installation as its golden file says', () => {
    expectGolden(
      import.meta.dirname,
      'controller-defaults.golden.yaml',
      yamlStream(renderController(controllerDefaults)),
    );
  });

  test('puts the namespace first, so that the stream can be applied in order', () => {
    expect(renderController(controllerDefaults)[0]?.kind).toBe('Namespace');
  });
});
