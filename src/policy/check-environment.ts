/** Environment of commands that check a product: Python writes no caches, which would count as changes of the workspace. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const options = [env['PYTEST_ADDOPTS'] ?? '', '-p no:cacheprovider'].filter((word) => word !== '');
  return { PYTHONDONTWRITEBYTECODE: '1', PYTEST_ADDOPTS: options.join(' ') };
}
