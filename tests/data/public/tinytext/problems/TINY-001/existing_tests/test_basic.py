def test_import(): import tiny_text_tools
