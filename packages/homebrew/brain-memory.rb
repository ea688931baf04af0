class BrainMemory < Formula
  include Language::Python::Virtualenv

  desc "Local-first second brain for people who work with coding agents"
  homepage "https://pypi.org/project/brain-memory/"
  url "https://files.pythonhosted.org/packages/source/b/brain-memory/brain_memory-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "python@3.13"

  # The dependencies come as wheels: their resources are not listed here, because several of them cannot be built from
  # source without the network.
  def install
    venv = virtualenv_create(libexec, "python3.13", without_pip: false)
    system venv.root/"bin/python", "-m", "pip", "install", "--no-cache-dir", buildpath
    bin.install_symlink libexec/"bin/brain"
  end

  test do
    ENV["BRAIN_HOME"] = testpath/"brain"
    system bin/"brain", "init", "--demo"
    assert_match "qmd://", shell_output("#{bin}/brain ask redis --json")
  end
end
